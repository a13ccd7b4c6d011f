"""What an application does, for people and programs that do not read its code.

asyncapi   handlers, topics and types as an AsyncAPI document
page       the same document as a page of HTML
"""
