"""The protocol as a receiver should read it: what the schema asks for, minus what it asks receivers to forgive.

``tolerant`` turns one condensed schema (``protocol/acp/v1.json``) into another.  It changes four things:

1. A property that the schema marks ``x-tolerates: error`` may hold anything: receivers take the default instead.
2. A property marked ``x-tolerates: null`` may be null.
3. A union told apart by a tag also takes objects with a tag it does not know: a newer peer's variants pass untouched.
   The unions in CLOSED do not.
4. What FORGIVEN lists may hold anything or be missing.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

CLOSED = {
    "RequestPermissionOutcome",  # an answer that we do not understand must never read as a yes
}
FORGIVEN = {
    ("PermissionOption", "kind"),  # an option without a known kind is shown to a person, never chosen by a rule
    ("SetSessionConfigOptionResponse", "configOptions"),  # OpenHands answers {}; the option is set all the same
}


def tolerant(document: Schema) -> Schema:
    """The same document with forgiving types; methods and names are unchanged."""
    return document | {"$defs": {name: _type(name, schema) for name, schema in document["$defs"].items()}}


def _type(name: str, schema: Schema) -> Schema:
    for part in [part for owner, part in FORGIVEN if owner == name]:
        required = [other for other in schema["required"] if other != part]
        schema = schema | {"properties": schema["properties"] | {part: {}}, "required": required}
    if "discriminator" in schema and name not in CLOSED:
        schema = _opened(schema)
    relaxed: Schema = _relaxed(schema)
    return relaxed


def _opened(schema: Schema) -> Schema:
    tag = schema["discriminator"]
    union = "oneOf" if "oneOf" in schema else "anyOf"
    texts = [branch["properties"][tag] for branch in schema[union]]
    known = [{"type": "object", "properties": {tag: text}, "required": [tag]} for text in texts]
    other = {
        "type": "object",
        "properties": {tag: {"type": "string"}},
        "required": [tag],
        "not": {"anyOf": known},
    }
    return schema | {union: [*schema[union], other]}


def _relaxed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_relaxed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    relaxed = {keyword: _relaxed(value) for keyword, value in schema.items() if keyword != "properties"}
    if "properties" in schema:
        relaxed["properties"] = {name: _property(part) for name, part in schema["properties"].items()}
    return relaxed


def _property(schema: Schema) -> Schema:
    tolerates = schema.get("x-tolerates", [])
    if "error" in tolerates:
        return {}
    relaxed: Schema = _relaxed(schema)
    if "null" in tolerates:
        relaxed["type"] = [relaxed["type"], "null"]
    return relaxed
