"""Plain comments of the headers as documentation comments, for doxygen.

A comment that stands alone before a declaration documents it; a comment behind a declaration, on its line, documents
that. Not documentation of one thing, and left as they are: a heading (/* -- tasks --- */), a comment before a blank
line, and one after a brace that opens a function. The text goes through as it is (verbatim): reference.py reads it as
Markdown. Lines keep their numbers."""
import re

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|/\*.*?\*/|//[^\n]*', re.S)
NOT_ONE = re.compile(r'[\s}#;]*(endif)?\s*|\s*(struct|class|enum) \w+;\s*')  # the end of something, a name alone
OPENS = re.compile(r'^\s*(typedef\s+)?(struct|enum|union|class|namespace)\b.*\{\s*$')


class Comment:
    """One comment of a file: its place, its plain text, and whether code stands before it on its line."""

    def __init__(self, source, begin, end):
        self.begin, self.end = begin, end
        self.line = source.count('\n', 0, begin) + 1
        self.last = source.count('\n', 0, end) + 1
        raw = source[begin:end]
        if raw.startswith('/*'):
            lines = re.split(r'\n', raw[2:-2])
            self.text = '\n'.join(re.sub(r'^\s*\* ?', '', text) if n else text.strip() for n, text in enumerate(lines))
        else:
            self.text = '\n'.join(re.sub(r'^\s*//+ ?', '', text) for text in raw.split('\n'))
        before = source[source.rfind('\n', 0, begin) + 1:begin]
        self.code = before if before.strip() else ''
        if self.code:  # its further lines are set below its first one
            self.text = '\n'.join(text.strip() for text in self.text.split('\n'))
        after = source[end:].split('\n', 2)
        self.rest = after[0].strip()
        self.free = not self.rest and len(after) > 1 and not after[1].strip()

    @property
    def heading(self):
        """The words of a heading, or None. A heading may have a text below its first line."""
        found = re.match(r'-- (.+?) -{2,}', self.text.split('\n')[0] + ' --')
        return found.group(1).strip() if found and not self.code else None

    @property
    def below(self):
        return '\n'.join(self.text.split('\n')[1:]).strip()


def comments(source):
    """The comments of a file, in order; lines of // that follow each other and stand alone are one comment."""
    out = []
    for token in TOKEN.finditer(source):
        if token.group()[0] != '/':
            continue
        begin, end = token.span()
        alone = not source[source.rfind('\n', 0, begin) + 1:begin].strip()
        if out and alone and token.group().startswith('//'):
            start, stop, before = out[-1]
            if before and source.startswith('//', start) and re.fullmatch(r'\n[ \t]*', source[stop:begin]):
                out[-1] = (start, end, True)
                continue
        out.append((begin, end, alone))
    return [Comment(source, begin, end) for begin, end, _ in out]


def documented(source, name):
    """The source of the header `name` with documentation comments in place of plain ones."""
    source = source.replace('namespace consort::inline face {', 'namespace consort {')
    # Specialisations of the C++ library's templates, which doxygen takes for classes without a scope.
    source = re.sub(r'^template <>\nstruct std::[^;]*;', '\n', source, flags=re.M)
    out, at = [], 0
    for n, comment in enumerate(comments(source)):
        body = comment.text.replace('@endverbatim', '').replace('*/', '* /')
        if n == 0:
            new = f'/** @file {name} @verbatim {body} @endverbatim */'
        elif comment.heading or (comment.free and not comment.code):
            continue
        elif comment.code and NOT_ONE.fullmatch(comment.code):
            continue
        elif comment.code.rstrip().endswith('{'):
            if not OPENS.match(comment.code):
                continue
            start = comment.begin - len(comment.code)
            out += [source[at:start], f'/** @verbatim {body} @endverbatim */', comment.code]
            at = comment.end
            continue
        else:
            new = f'/**{"<" if comment.code else ""} @verbatim {body} @endverbatim */'
        out += [source[at:comment.begin], new]
        at = comment.end
    return ''.join(out) + source[at:]

