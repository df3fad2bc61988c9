"""JSON, and its canonical form (RFC 8785) as far as the format has it."""

import json
import re

COUNT_MAX = 2**53 - 1
DEPTH_MAX = 100


class OtherNumber(float):
    """A number that is no integer within the bounds, or is written in another way."""


class TooDeep:
    """Stands for what nests deeper than Python reads."""


def parse(text):
    """The value of a JSON text. A ValueError where it is none."""
    try:
        return json.loads(text, parse_int=read_int, parse_float=OtherNumber, parse_constant=refuse)
    except RecursionError:
        check_syntax(text)
        return TooDeep()


def read_int(text):
    return int(text) if len(text) <= 17 and text != '-0' and abs(int(text)) <= COUNT_MAX else OtherNumber(text)


def refuse(_text):
    raise ValueError


TOKEN = re.compile(
    r'[ \t\n\r]*(?:([\[\]{},:])|("(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")'
    r'|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null))'
)


def check_syntax(text):
    """Reads JSON of any depth. A ValueError where it is none."""
    text = text.rstrip(' \t\n\r')
    at, open_brackets, wanted = 0, [], 'value'
    while at < len(text):
        token = TOKEN.match(text, at)
        if not token:
            raise ValueError
        at = token.end()
        sign, string, _ = token.groups()
        if sign in ('[', '{') and wanted in ('value', 'value or ]'):
            open_brackets.append(sign)
            wanted = 'value or ]' if sign == '[' else 'key or }'
        elif (sign == ']' and wanted in ('value or ]', 'more ]')) or (sign == '}' and wanted in ('key or }', 'more }')):
            open_brackets.pop()
            wanted = after_value(open_brackets)
        elif sign == ',' and wanted in ('more ]', 'more }'):
            wanted = 'value' if wanted == 'more ]' else 'key'
        elif sign == ':' and wanted == ':':
            wanted = 'value'
        elif string and wanted in ('key', 'key or }'):
            wanted = ':'
        elif not sign and wanted in ('value', 'value or ]'):
            wanted = after_value(open_brackets)
        else:
            raise ValueError
    if wanted != 'end':
        raise ValueError


def after_value(open_brackets):
    if not open_brackets:
        return 'end'
    return 'more ]' if open_brackets[-1] == '[' else 'more }'


def canonical(value, depth=0):
    """A value as canonical JSON (RFC 8785). A ValueError where it has none within the format."""
    if isinstance(value, (OtherNumber, TooDeep)):
        raise ValueError
    if not isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    if depth == DEPTH_MAX:
        raise ValueError
    if isinstance(value, list):
        return '[' + ','.join(canonical(each, depth + 1) for each in value) + ']'
    keys = sorted(value, key=code_units)
    return '{' + ','.join(canonical(key) + ':' + canonical(value[key], depth + 1) for key in keys) + '}'


def code_units(text):
    return text.encode('utf-16-be', 'surrogatepass')


def is_canonical(value, data):
    try:
        return canonical(value).encode() == data
    except ValueError:
        return False
