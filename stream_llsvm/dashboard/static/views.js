// Which of the two views is shown: the address says it, so that links, bookmarks and Back work.
// Loaded before anything is painted, so that the other view never flashes.
{
  const root = document.documentElement;
  const views = ["watch", "operate"];

  const apply = () => {
    const wanted = decodeURIComponent(location.hash.slice(1));
    const target = wanted ? document.getElementById(wanted) : null;
    const inside = target?.closest("[data-in]")?.dataset.in;
    const before = root.dataset.view;
    const kept = wanted ? before : views[0]; // another part of the page is no other view
    root.dataset.view = views.includes(wanted) ? wanted : inside ?? kept ?? views[0];
    for (const link of document.querySelectorAll("#views a")) {
      if (link.hash === `#${root.dataset.view}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (before === undefined || before === root.dataset.view) return;
    if (target) target.scrollIntoView();
    else scrollTo(0, 0);
    document.dispatchEvent(new Event("viewchange"));
  };

  addEventListener("hashchange", apply);
  document.addEventListener("DOMContentLoaded", apply);
  apply();
}
