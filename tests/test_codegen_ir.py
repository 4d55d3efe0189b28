"""The IR: what is read out of a JSON Schema, shown on a small one."""

from __future__ import annotations

import json

import pytest

from codegen import ir
from codegen.model import FactError

RULES = {
    "three_state": {"Box": ["label"]},
    "null_payload": ["Empty"],
    "enum_fallback": {},
    "defaults": {},
    "else_guard": {},
    "else_when": {},
    "scope": "first",
    "any": [],
    "min_items": [],
    "sorted_maps": [],
    "sorted_extras": [],
}
SCHEMA = {
    "anyOf": [],
    "$defs": {
        "ProtocolNotification": {"x-docs-ignore": True},
        "Empty": {"type": "object", "properties": {}},
        "Size": {"type": "string", "enum": []},
        "Color": {"anyOf": [{"const": "red"}, {"const": "blue"}, {"type": "string"}]},
        "Box": {
            "type": "object",
            "required": ["width"],
            "properties": {
                "width": {"type": "integer", "format": "uint32", "minimum": 1},
                "label": {"type": ["string", "null"], "x-deserialize-default-on-error": True},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/Color"}, "default": []},
            },
        },
        "Thing": {
            "oneOf": [
                {
                    "properties": {"kind": {"const": "box"}},
                    "allOf": [{"$ref": "#/$defs/Box"}],
                },
                {"properties": {"kind": {"type": "string"}}, "not": {}},
            ]
        },
    },
}


def test_the_ir_holds_the_facts_of_a_json_schema() -> None:
    stable = json.loads(json.dumps(SCHEMA))
    del stable["$defs"]["Box"]["properties"]["tags"]
    names = {"Thing": {"box": "BoxThing", "*": "OtherThing"}}
    made = ir.Release("v1", stable, SCHEMA, RULES, names).ir()
    assert made["types"] == {
        "Box": {
            "k": "rec",
            "f": [["width", "nzu32", "r"], ["label", "str", "te"], ["tags", "[Color]", "au", []]],
        },
        "BoxThing": {"k": "rec", "f": [], "x": "Box"},
        "Color": {"k": "enum", "v": ["red", "blue"], "o": True},
        "Empty": {"k": "rec", "f": [], "null": True},
        "OtherThing": {"k": "rec", "f": [], "open": True, "tag": "kind"},
        "Size": {"k": "str"},
        "Thing": {"k": "union", "tag": "kind", "v": [["box", "BoxThing"]], "other": "OtherThing"},
    }


def test_an_unread_form_of_json_schema_stops_the_ir() -> None:
    schema = {
        "anyOf": [],
        "$defs": {
            "ProtocolNotification": {"x-docs-ignore": True},
            "Box": {"type": "object", "properties": {"odd": {"type": "unheard-of"}}},
        },
    }
    with pytest.raises(FactError, match="unread type"):
        ir.Release("v1", schema, schema, RULES, {}).ir()
