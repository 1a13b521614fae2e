// The search of the documentation: loads search-data.js when the box is first used (as a script, so that it works for
// pages opened as files) and shows what matches. Arrow keys choose, Enter opens, Escape closes, "/" goes to the box.
(function () {
  'use strict';
  const MOST = 40;
  let rows = null, root = '', box, list, chosen = 0;

  window.consortSearch = function (data) {
    rows = data.map(([title, page, url, text, name, weight]) => ({
      title, page, url, text, name, weight, low: title.toLowerCase(), body: (page + ' ' + text).toLowerCase()
    }));
    show();
  };

  function load() {
    if (rows || document.getElementById('search-data')) return;
    const script = document.createElement('script');
    script.id = 'search-data';
    script.src = root + '_static/search-data.js';
    document.head.append(script);
  }

  // How well a row fits all words; 0: not at all. A name that is the query beats one that begins with it; then come
  // headings, then text.
  function fit(row, words, whole) {
    let score = row.low === whole ? 1000 : row.low.startsWith(whole) ? 300 : 0;
    for (const word of words) {
      const at = row.low.indexOf(word);
      if (at >= 0) score += 60 + (at === 0 || /\W|_/.test(row.low[at - 1]) ? 60 : 0) - Math.min(row.low.length, 60) / 3;
      else if (row.body.includes(word)) score += row.name ? 4 : 6 + 3 * Math.min(row.body.split(word).length - 1, 8);
      else return 0;
    }
    return Math.max(1, score + row.weight + (row.page ? 0 : 15));
  }

  function find(query) {
    const whole = query.trim().toLowerCase().replace(/\(\)$/, ''), words = whole.split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    return rows.map(row => ({row, score: fit(row, words, whole), words})).filter(hit => hit.score > 0)
      .sort((a, b) => b.score - a.score || a.row.low.length - b.row.low.length).slice(0, MOST);
  }

  // Text with the words marked, as nodes: nothing of the data is read as HTML.
  function marked(text, words) {
    const out = document.createDocumentFragment();
    const sought = new RegExp('(' + words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|') + ')', 'i');
    text.split(sought).forEach((part, i) => {
      if (i % 2) {
        const mark = document.createElement('mark');
        mark.textContent = part;
        out.append(mark);
      } else out.append(part);
    });
    return out;
  }

  function excerpt(row, words) {
    const low = row.text.toLowerCase(), places = words.map(w => low.indexOf(w)).filter(place => place >= 0);
    const at = Math.max(0, Math.min(...places, low.length) - 40);
    const from = at >= low.length - 40 ? 0 : at && row.text.indexOf(' ', at) + 1;
    return (from ? '… ' : '') + row.text.slice(from, from + 150);
  }

  function show() {
    const query = box.value;
    list.hidden = !query.trim() || !rows;
    if (list.hidden) return;
    const hits = find(query);
    chosen = 0;
    list.replaceChildren(...hits.map(({row, words}, i) => {
      const link = document.createElement('a'), title = document.createElement(row.name ? 'code' : 'strong');
      link.href = root + row.url;
      link.setAttribute('role', 'option');
      title.append(marked(row.title, words));
      link.append(title);
      if (row.page) link.append(Object.assign(document.createElement('small'), {textContent: row.page}));
      const text = document.createElement('span');
      text.append(marked(excerpt(row, words), words));
      link.append(text);
      link.classList.toggle('chosen', i === 0);
      return link;
    }));
    if (!hits.length) list.append(Object.assign(document.createElement('p'), {textContent: 'Nothing found.'}));
  }

  function choose(step) {
    const links = list.querySelectorAll('a');
    if (!links.length) return;
    links[chosen].classList.remove('chosen');
    chosen = (chosen + step + links.length) % links.length;
    links[chosen].classList.add('chosen');
    links[chosen].scrollIntoView({block: 'nearest'});
  }

  document.addEventListener('DOMContentLoaded', () => {
    box = document.getElementById('search-box');
    list = document.getElementById('search-results');
    const form = document.getElementById('search-form');
    root = form.dataset.root;
    box.addEventListener('focus', load);
    box.addEventListener('input', () => { load(); if (rows) show(); });
    box.addEventListener('keydown', event => {
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        choose(event.key === 'ArrowDown' ? 1 : -1);
        event.preventDefault();
      } else if (event.key === 'Escape') {
        box.value = '';
        show();
        box.blur();
      }
    });
    form.addEventListener('submit', event => {
      event.preventDefault();
      const link = list.querySelector('a.chosen');
      if (link) link.click();
    });
    list.addEventListener('click', () => { list.hidden = true; });
    document.addEventListener('keydown', event => {
      const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
      if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        box.focus();
      }
    });
  });
})();
