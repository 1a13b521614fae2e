"""The reference of the headers: one page a header, in its order, from doxygen's XML and the header's own lines."""
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from declarations import Header

SPECIAL = re.compile(r'\b(\w+)\(\1 ?&&|operator=\(|detail::|&operator=| = delete')
PLAIN = re.compile(r'^~|\(\) (noexcept )?= default$')  # what needs no comment: destructors, default constructors


@dataclass
class Entry:
    """One thing that a header declares."""

    kind: str
    name: str
    qualified: str
    line: int
    code: str
    text: str
    members: list = field(default_factory=list)
    free: bool = False  # a comment of its own, not of a declaration


def described(node):
    text = ''.join(''.join(v.itertext()) + '\n' for v in node.find('detaileddescription').iter('verbatim'))
    return '\n'.join(part.rstrip() for part in text.strip('\n').split('\n')).strip()


def place(node):
    spot = node.find('location')
    return spot.get('file'), int(spot.get('line') or 0)


class Reader:
    """Reads doxygen's XML into entries of headers."""

    def __init__(self, xml, include):
        self.include, self.headers, self.entries = include, {}, {}
        self.about = {}
        for file in sorted(xml.glob('*.xml')):
            if file.name in ('index.xml', 'Doxyfile.xml'):
                continue
            for compound in ElementTree.parse(file).getroot().iter('compounddef'):
                self.compound(compound)

    def header(self, name):
        if name not in self.headers:
            self.headers[name] = Header(self.include / name, name)
        return self.headers[name]

    def compound(self, node):
        kind, name = node.get('kind'), node.find('compoundname').text
        if kind == 'file':
            self.about[place(node)[0]] = described(node)
            self.header(place(node)[0])
        if kind in ('dir', 'page') or node.get('prot') == 'private':
            return
        if kind in ('file', 'namespace'):
            for member in node.iter('memberdef'):
                self.member(member, None)
            return
        file, line = place(node)
        if '@' in name:
            return
        header = self.header(file)
        line = node.find('location').get('bodystart') and min(line, int(node.find('location').get('bodystart'))) or line
        functions = any(m.get('kind') != 'variable' for m in node.iter('memberdef') if m.get('prot') == 'public')
        plain = 'class' if '::' in name and (kind == 'class' or functions) else kind
        entry = Entry(plain, name.split('::')[-1], name, line, header.declaration(line, plain), described(node))
        for section in node.iter('sectiondef'):
            if section.get('kind').startswith(('public', 'user-defined')):
                for member in section.iter('memberdef'):
                    self.member(member, entry)
        self.put(file, entry)

    def member(self, node, owner):
        kind, name = node.get('kind'), node.find('name').text or ''
        file, line = place(node)
        if node.get('prot') == 'private' or kind == 'friend':
            return
        header = self.header(file)
        if kind == 'define' and (re.match(r'CONSORT_\w*_(H|HPP)$', name) or not name.startswith('CONSORT')
                                 or f'#undef {name}' in header.source):
            return
        code = header.declaration(line, kind)
        if kind == 'function' and (SPECIAL.search(code) or code.startswith('using ')):
            return
        if kind == 'typedef' and code.startswith('}'):
            return  # the end of a struct that has its own entry
        qualified = f'{owner.qualified}::{name}' if owner else (node.findtext('qualifiedname') or name)
        entry = Entry(kind, name, qualified, line, code, described(node))
        if kind == 'enum':
            for value in node.iter('enumvalue'):
                start = (value.findtext('initializer') or '').strip()
                one = value.find('name').text
                entry.members.append(Entry('value', one, one, line, start, described(value)))
        if owner:
            owner.members.append(entry)
        else:
            self.put(file, entry)

    def put(self, file, entry):
        same = [e for e in self.entries.setdefault(file, []) if e.line == entry.line and e.name == entry.name]
        if not same:
            self.entries[file].append(entry)
        elif entry.kind != 'typedef' and same[0].kind == 'typedef':
            self.entries[file][self.entries[file].index(same[0])] = entry

    def undocumented(self):
        """What is public and says nothing of itself: functions and types, and the functions of classes."""
        for file, entries in sorted(self.entries.items()):
            said = set()
            for entry in entries:
                for one in [entry, *(m for m in entry.members if m.kind == 'function')]:
                    if one.text:
                        said.add(one.qualified)
                    elif one.kind not in ('function', 'class', 'concept') or PLAIN.search(one.code):
                        continue
                    elif one.qualified not in said:
                        yield f'{file}:{one.line}: {one.qualified} has no comment'


def prose(text):
    """A comment as Markdown: names as code, indented lines as blocks of code, all else as it stands."""
    out, block = [], []
    lines = text.split('\n') + ['']
    for at, line in enumerate(lines):
        if re.match(r' {2,}\S', line):
            block.append(line)
            continue
        if block and not line.strip() and at + 1 < len(lines) and re.match(r' {2,}\S', lines[at + 1]):
            block.append('')
            continue
        if block:
            code = any(mark in part for part in block for mark in ';{(')
            out += ['', '```cpp' if code else '```text', dedent_block(block), '```', '']
            block = []
        out.append(inline(line.strip()))
    return '\n'.join(out).strip()


def dedent_block(lines):
    indent = min(len(text) - len(text.lstrip()) for text in lines if text.strip())
    return '\n'.join(text[indent:] for text in lines)


NAME = re.compile(r'\b(?:consort_\w+(?:\.\w+)?(?:\(\))?|CONSORT_\w+(?:\(\))?|E_[A-Z_]+[A-Z]|NULL'
                  r'|(?:CL|TASK|WAIT|MORE|M|SP|TC|PF|AL|SF|RP|TK|FI)_[A-Z_]+[A-Z]'
                  r'|\w+(?:::\w+)+(?:<\w*>)?(?:\(\))?|\w+->\w+|[a-z]\w*\(\))')


def inline(line):
    """A line of a comment: names become code, docs/PAGE.md a link, and nothing else is markup."""
    parts = re.split(r'(`[^`]+`|docs/[\w/-]+\.md)', line)
    for at in range(1, len(parts), 2):
        if parts[at].startswith('docs/'):
            parts[at] = f'[{parts[at]}](../{parts[at].removeprefix("docs/")})'
    for at in range(0, len(parts), 2):
        plain, last, out = parts[at], 0, []
        for span in NAME.finditer(plain):
            out += [escape(plain[last:span.start()]), f'`{span.group()}`']
            last = span.end()
        parts[at] = ''.join(out) + escape(plain[last:])
    return ''.join(parts)


def escape(text):
    return re.sub(r'([\\*_<>\[\]|~#{}$^])', r'\\\1', text)


class Page:
    """Writes the page of one header."""

    def __init__(self, reader, name, symbols):
        self.reader, self.name, self.symbols = reader, name, symbols
        self.lang = 'cpp' if name.endswith('.hpp') else 'c'
        self.out, self.section = [], False

    def write(self, title):
        header = self.reader.header(self.name)
        about = re.sub(r'^\S+\s+(—|-)\s+', '', self.reader.about.get(self.name, ''))
        first, _, rest = about.partition('\n\n') if '\n\n' in about else (about, '', '')
        self.out += [f'# {title}', '', prose(first[:1].upper() + first[1:]), '']
        self.out += [f'```{self.lang}', f'#include <{self.name}>', '```', '']
        if rest:
            self.out += [prose(rest), '']
        entries = self.reader.entries.get(self.name, [])
        full = {e.name for e in entries if e.kind in ('struct', 'union')}
        found = [(e.line, 1, e) for e in entries if e.kind != 'typedef' or e.name not in full]
        documented = {e.text.strip()[:60] for _, _, e in found}
        for comment in header.comments[1:]:
            if comment.heading and self.outside(header, comment):
                found.append((comment.line, 0, comment))
            elif comment.free and not comment.code and comment.text.strip()[:60] not in documented:
                if self.outside(header, comment):
                    found.append((comment.line, 0, comment))
        before = None
        for _, _, thing in sorted(found, key=lambda f: f[:2]):
            if isinstance(thing, Entry):
                self.entry(thing, before)
                before = thing
            else:
                before = None
                if thing.heading:
                    self.section = True
                    self.out += [f'## {thing.heading[:1].upper()}{thing.heading[1:]}', '']
                self.out += [prose(thing.below if thing.heading else thing.text), '']
        return '\n'.join(self.out) + '\n'

    def outside(self, header, comment):
        """Whether a comment stands outside all braces but those of namespaces and extern "C"."""
        return not header.source[header.source.rfind('\n', 0, comment.begin) + 1:comment.begin]

    def anchor(self, entry):
        if entry.qualified in self.symbols:
            return []
        page = page_of(self.name)
        self.symbols[entry.qualified] = (page, entry.qualified.replace('::', '.'), summary(entry))
        return [f'<span id="{entry.qualified.replace("::", ".")}"></span>', '']

    def entry(self, entry, before):
        deep = '###' if self.section else '##'
        if entry.kind == 'class':
            return self.klass(entry)
        title = entry.name
        if entry.kind == 'enum' and ('@' in title or not title):
            flags = re.fullmatch(r'consort_\w+\.\w+', entry.text)
            title = flags.group() if flags else entry.members[0].name + ' …' * (len(entry.members) > 1)
            entry.qualified = f'{title}' if flags else entry.members[0].name + '.enum'
        elif entry.kind == 'function':
            title += '()'
        anchor = self.anchor(entry)
        small = entry.kind in ('define', 'variable') and not entry.text
        if small and before and before.kind == entry.kind and not before.text and self.out[-2:] == ['```', '']:
            opening = len(self.out) - 1 - self.out[::-1].index(f'```{self.lang}')
            self.out[-2:] = [entry.code, '```', '']
            self.out[opening:opening] = anchor
            return
        if not small and not (entry.kind == 'function' and before and before.name == entry.name):
            anchor += [f'{deep} `{title}`', '']
        self.out += [*anchor, f'```{self.lang}', entry.code, '```', '']
        flags = re.fullmatch(r'consort_\w+\.\w+', entry.text)
        if entry.text and not flags:
            self.out += [prose(entry.text), '']
        self.fields(entry)

    def fields(self, entry):
        rows, line = [], None
        for member in entry.members:
            owner = entry.name + '.' if entry.kind in ('struct', 'union') else ''
            member.qualified = owner + member.name
            same = rows and member.kind == 'variable' and member.line == line
            names = rows[-1][0] if same else []
            names.append(member)
            if not same:
                rows.append((names, []))
            if member.text:
                rows[-1][1].append(member.text)
            line = member.line
        for names, texts in rows:
            if not texts:
                place = (page_of(self.name), entry.qualified.replace('::', '.'), f'of {entry.qualified}')
                self.symbols.update({m.qualified: place for m in names if m.qualified not in self.symbols})
                continue
            marks = ''.join(f'<span id="{m.qualified}"></span>' for m in names if m.qualified not in self.symbols)
            for m in names:
                self.symbols.setdefault(m.qualified, (page_of(self.name), m.qualified, texts[0]))
            if entry.kind == 'enum':
                head_ = f'`{names[0].name}`' + (f' `{names[0].code}`' if names[0].code else '')
            else:
                head_ = ', '.join(f'`{m.name}`' for m in names)
            body = prose(texts[-1]).replace('\n', '\n  ')
            self.out += [f'{marks}{head_}', f': {body}', '']

    def klass(self, entry):
        deep = '###' if self.section else '##'
        self.out += [*self.anchor(entry), f'{deep} `{entry.name}`', '', f'```{self.lang}', entry.code, '```', '']
        if entry.text:
            self.out += [prose(entry.text), '']
        groups = []
        for member in entry.members:
            if member.kind == 'variable' and not member.text and not entry.code.lstrip().startswith('struct'):
                continue
            last = groups[-1][-1] if groups else None
            if last and not member.text and (last.name == member.name or PLAIN.search(member.code) and not last.text):
                groups[-1].append(member)
            else:
                groups.append([member])
        for group in groups:
            marks = [mark for one in group for mark in self.anchor(one)]
            code = '\n'.join(dict.fromkeys(one.code for one in group))
            texts = [prose(one.text) for one in group if one.text]
            self.out += [':::{container} member', *marks, f'```{self.lang}', code, '```', '']
            self.out += ['\n\n'.join(texts), ':::', '']


def summary(entry):
    return ' '.join(entry.text.split())[:300]


def page_of(header):
    return 'reference/' + header.removeprefix('consort/').replace('/', '-')


def write(xml, include, out):
    """Writes the pages; returns {name: (page, anchor, text)}, what has no comment, and {header: its first sentence}."""
    reader, symbols = Reader(xml, include), {}
    for name in sorted(reader.headers):
        target = out / (page_of(name) + '.md')
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(Page(reader, name, symbols).write(name))
    about = {name: reader.about.get(name, '').partition('— ')[2] for name in reader.headers}
    first = {name: re.split(r'(?<=[.:])\s', text, maxsplit=1)[0].rstrip('.:') for name, text in about.items()}
    return symbols, list(reader.undocumented()), first
