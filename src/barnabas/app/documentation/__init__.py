"""What an application does, for people and programs that do not read its code.

schemas    types as JSON Schema
asyncapi   handlers, topics and types as an AsyncAPI document
page       the same document as a page of HTML
"""
