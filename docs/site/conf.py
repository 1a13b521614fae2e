"""Sphinx's settings, and what they add to it: names in code become links into the reference; the index of search.js."""
import json
import os
import re
import sys
from pathlib import Path

import furo
from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder

HERE = Path(os.environ['CONSORT_DOCS_SITE'])
sys.path.insert(0, str(HERE))
from navigation import Navigation  # noqa: E402, beside this file

SYMBOLS = json.loads(Path(os.environ['CONSORT_DOCS_SYMBOLS']).read_text())  # name: [page, anchor, first sentence]

project = 'Consort'
release = version = os.environ['CONSORT_DOCS_VERSION']
copyright = 'the authors of Consort, Apache License 2.0'
extensions = ['myst_parser']
source_suffix = {'.md': 'markdown'}
root_doc = 'index'
templates_path = [str(HERE / 'templates')]
myst_enable_extensions = ['colon_fence', 'deflist']
myst_heading_anchors = 4
suppress_warnings = ['myst.header', 'misc.highlighting_failure']
smartquotes = False
highlight_language = 'none'
pygments_style = 'friendly'
pygments_dark_style = 'github-dark'

html_theme = 'furo'
html_title = f'Consort {release}'
html_static_path = [str(HERE / 'static')]
html_css_files = ['consort.css']
html_js_files = ['search.js']
html_use_index = False
html_copy_source = False
html_show_sphinx = False
html_permalinks_icon = '#'
html_theme_options = {
    'light_css_variables': {'color-brand-primary': '#0b5d7a', 'color-brand-content': '#0b6a8c'},
    'dark_css_variables': {'color-brand-primary': '#6cc6e6', 'color-brand-content': '#7dcdea'},
}


def link_names(app, doctree, docname):
    """Makes `consort_submit()` in the text a link to its place in the reference."""
    for literal in list(doctree.findall(nodes.literal)):
        name = re.sub(r'<\w*>$', '', literal.astext().removesuffix('()'))
        found = SYMBOLS.get(name) or SYMBOLS.get('CONSORT_' + name) or SYMBOLS.get('consort::' + name)
        if not found or isinstance(literal.parent, (nodes.reference, nodes.title)):
            continue
        page, anchor, _ = found
        if page == docname and isinstance(literal.parent, nodes.term):
            continue  # it is the place itself
        uri = f'#{anchor}' if page == docname else f'{app.builder.get_relative_uri(docname, page)}#{anchor}'
        link = nodes.reference('', '', internal=True, refuri=uri, classes=['name'])
        literal.replace_self(link)
        link += literal


WEIGHTS = {'decisions': -20, 'parity': -60, 'tests': -60, 'source': -60}  # of folders, in the search; a guide: 30


def weight(page):
    return WEIGHTS.get(page.split('/')[0], 0 if '/' in page else 30)


SILENT = (nodes.section, nodes.title, nodes.raw, nodes.comment)  # what is not the text of a section


def sections(node):
    """(heading, anchor, text) of a page's sections, the text without that of sections below."""
    for section in node.findall(nodes.section):
        title = section.next_node(nodes.title).astext()
        plain = section.deepcopy()
        for part in [p for p in plain.findall(lambda n: isinstance(n, SILENT)) if p is not plain]:
            if part.parent:
                part.parent.remove(part)
        parts = [part.astext() for part in plain]
        anchor = section['ids'][0] if section.parent is not node else ''
        yield title, anchor, ' '.join(' '.join(parts).split())


def write_index(app, error):
    """Writes what search.js searches, as a script: a page opened as a file may load a script, but not fetch."""
    if error:
        return
    rows, builder = [], app.builder
    for page in sorted(app.env.found_docs):
        top = app.env.titles[page].astext()
        reference = page.startswith('reference/')
        for title, anchor, text in sections(app.env.get_doctree(page)):
            name = title.removesuffix('()')
            names = {name, f'consort::{name}', f'consort::plugin::{name}'} if reference else set()
            if page == 'index' or names & SYMBOLS.keys():
                continue
            address = builder.get_target_uri(page) + (f'#{anchor}' if anchor else '')
            rows.append([title, top if anchor else '', address, text[:4000], 0, weight(page)])
    for name, (page, anchor, first) in sorted(SYMBOLS.items()):
        address = f'{builder.get_target_uri(page)}#{anchor}'
        rows.append([name, page.removeprefix('reference/'), address, first[:300], 1, 0])
    styles = Path(app.outdir) / '_static/styles/furo.css'  # Debian's asks for a file of the system's web server
    styles.write_text(re.sub(r'^@import url\(/[^)]*\);\n?', '', styles.read_text()))
    text = json.dumps(rows, ensure_ascii=False, separators=(',', ':'))
    (Path(app.outdir) / '_static/search-data.js').write_text(f'consortSearch({text});\n')


def use_navigation(app, env):
    navigation = Navigation(app)
    furo._compute_navigation_tree = lambda context: navigation.html(context['pagename'])


def setup(app):
    StandaloneHTMLBuilder.search = False  # Sphinx's own search fetches pages, which a browser refuses for files
    app.connect('env-check-consistency', use_navigation)
    app.connect('doctree-resolved', link_names)
    app.connect('build-finished', write_index)
