"""JSON Schema, from draft 4 to 2020-12.

documents      a schema and those it refers to: drafts, identifiers, `$ref`
validation     what a schema may not contain
place          where in a schema a comparison is
views          properties and items as all drafts mean them
equality       whether two texts of JSON mean the same
types          types and values
scalars        the rules of strings, numbers, and sizes
presence       the rules of what has to be there
compatibility  whether all that one schema accepts is accepted by another
parsed         a schema with its references
"""
