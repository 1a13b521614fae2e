// In place of the theme's script, which Debian ships as modules: those do not load for pages that are opened as files.
// The button goes from the system's colours to the other ones and back; the contents show the heading in sight.
(function () {
  'use strict';

  function colours() {
    const dark = window.matchMedia('(prefers-color-scheme: dark)').matches, now = document.body.dataset.theme || 'auto';
    const order = dark ? ['auto', 'light', 'dark'] : ['auto', 'dark', 'light'];
    document.body.dataset.theme = order[(order.indexOf(now) + 1) % 3];
    localStorage.setItem('theme', document.body.dataset.theme);
  }

  function follow() {
    const links = [...document.querySelectorAll('.toc-tree a[href^="#"]')];
    const heads = links.map(link => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    let waiting = false, last = null;
    function mark() {
      waiting = false;
      let at = -1;
      heads.forEach((head, i) => { if (head && head.getBoundingClientRect().top < 96) at = i; });
      const item = at < 0 ? null : links[at].closest('li');
      if (item === last) return;
      for (let i = last; i; i = i.parentElement.closest('.toc-tree li')) i.classList.remove('scroll-current');
      for (let i = item; i; i = i.parentElement.closest('.toc-tree li')) i.classList.add('scroll-current');
      if (item) {
        const box = item.closest('.toc-scroll');
        const top = item.getBoundingClientRect().top - box.getBoundingClientRect().top;
        if (top < 0 || top > box.clientHeight - 40) box.scrollTop += top - box.clientHeight / 2;
      }
      last = item;
    }
    window.addEventListener('scroll', () => {
      if (!waiting) requestAnimationFrame(mark);
      waiting = true;
    }, {passive: true});
    mark();
  }

  document.addEventListener('DOMContentLoaded', () => {
    document.documentElement.classList.remove('no-js');
    for (const button of document.getElementsByClassName('theme-toggle')) button.addEventListener('click', colours);
    follow();
  });
})();
