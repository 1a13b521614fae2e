"""What a header declares, as text: a declaration without its body and its comments, in lines that fit a page."""
import re

from comments import comments

WIDE = 92  # columns of a declaration before its parameters, or its fields, get a line each


class Header:
    """A header's lines, with and without comments."""

    def __init__(self, path, name):
        self.name, self.source = name, path.read_text()
        self.comments = comments(self.source)
        blank = list(self.source)
        for comment in self.comments:
            for at in range(comment.begin, comment.end):
                if blank[at] != '\n':
                    blank[at] = ' '
        self.plain = ''.join(blank)
        self.lines = self.plain.split('\n')

    def declaration(self, line, kind):
        """The text of the declaration on that line, without its body and without comments."""
        first = line - 1
        if self.lines[first].lstrip().startswith('#define'):
            last = first
            while self.lines[last].rstrip().endswith('\\'):
                last += 1
            return dedent(self.lines[first:last + 1])
        while first and re.match(r'\s*(template\b|requires\b)', self.lines[first - 1]):
            first -= 1
        text = '\n'.join(self.lines[first:])
        if kind == 'function' or kind == 'class':
            text = text[:head(text)]
        else:
            text = text[:whole(text)]
        return dedent(text.split('\n'))


def head(text):
    """Where a declaration ends: before its body, its initialisers, or its semicolon."""
    depth, at = 0, 0
    while at < len(text):
        c = text[at]
        if c in '([':
            depth += 1
        elif c in ')]':
            depth -= 1
        elif depth == 0 and c in '{;':
            if c == '{' and re.search(r'=\s*$', text[:at]):
                return at
            return at
        elif depth == 0 and c == ':' and text[at - 1] != ':' and text[at + 1:at + 2] != ':' and ')' in text[:at]:
            return at
        at += 1
    return len(text)


def whole(text):
    """Where a definition of data ends: behind its semicolon, outside all braces."""
    depth = 0
    for at, c in enumerate(text):
        depth += (c in '({[') - (c in ')}]')
        if c == ';' and depth == 0:
            return at + 1
    return len(text)


def dedent(lines):
    lines = [text.rstrip() for text in lines if text.strip()]
    indent = min((len(text) - len(text.lstrip()) for text in lines), default=0)
    lines = [text if text.lstrip().startswith('#') else re.sub(r'(\S) {2,}', r'\1 ', text[indent:]) for text in lines]
    lines = [re.sub(r'^(\s*)(CONSORT_API|CONSORT_EXPORT) ', r'\1', text) for text in lines]
    return '\n'.join(part for text in lines for part in narrow(text))


def narrow(text):
    """A long line as one parameter, or one field, a line."""
    fields = re.fullmatch(r'(typedef (?:struct|union) \w+ \{) (.*) (\} \w+;)', text)
    if len(text) > WIDE and fields:
        rows = [f'  {row};' for row in fields.group(2).rstrip(';').split('; ')]
        return [fields.group(1), *rows, fields.group(3)]
    if len(text) <= WIDE or '(' not in text or re.match(r'#|\s*requires', text):
        return [text]
    indent = re.match(r'\s*', text).group()
    opening = text.index('(', text.index('(*') + 2) if '(*' in text else text.index('(')
    depth, at, parts, start = 0, opening, [], opening + 1
    while at < len(text):
        depth += (text[at] in '([') - (text[at] in ')]')
        if depth == 0 or (depth == 1 and text[at] == ','):
            parts.append(text[start:at + 1].strip())
            start = at + 1
            if depth == 0:
                break
        at += 1
    if len(parts) < 2:
        return [text]
    parts[-1] += text[at + 1:]
    return [text[:opening + 1], *(f'{indent}    {part}' for part in parts)]
