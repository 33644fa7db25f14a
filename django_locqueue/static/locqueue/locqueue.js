// Keeps the parts of a page as the server has them now: elements with data-lq-region, whose data-lq-version says whether they
// have changed. Without a script everything is there, and reloading the page does the same.
(() => {
  "use strict";
  const bar = document.querySelector("[data-lq-refresh]");
  if (!bar) return;
  const IDLE_MS = 30 * 60 * 1000; // without input: an open tab must not keep a session alive for ever
  const LONGEST_MS = 60 * 1000;
  const status = bar.querySelector("[data-lq-status]");
  const choice = bar.querySelector("[data-lq-choice]");
  const kept = `locqueue.refresh.${bar.dataset.lqPage}`;
  const ahead = Date.parse(bar.dataset.lqNow) - Date.now(); // the server's clock, not the visitor's
  const words = new Intl.RelativeTimeFormat(document.documentElement.lang || "en", { numeric: "auto" });
  let lastInput = Date.now();
  let took = 0;
  let etag = "";
  let timer = 0;
  let stopped = false;

  for (const kind of ["pointerdown", "keydown", "scroll"]) {
    addEventListener(kind, () => { lastInput = Date.now(); }, { passive: true });
  }

  // Distances to now, in the words of the server; what is days away stays as it was written.
  const tick = () => {
    for (const time of document.querySelectorAll(".lq time[datetime]")) {
      const seconds = (Date.parse(time.dateTime) - Date.now() - ahead) / 1000;
      const [unit, size] = Math.abs(seconds) < 60 ? ["second", 1] : Math.abs(seconds) < 3600 ? ["minute", 60] : ["hour", 3600];
      if (Math.abs(seconds) < 86400) time.textContent = words.format(Math.trunc(seconds / size), unit);
    }
  };

  const regions = (page) => new Map([...page.querySelectorAll("[data-lq-region]")].map((part) => [part.dataset.lqRegion, part]));

  // Whatever a person is about to do, the refresh waits for it.
  const inUse = () => {
    const active = document.activeElement;
    return document.hidden || Date.now() - lastInput > IDLE_MS || !getSelection().isCollapsed ||
      document.querySelector("[data-lq-region] input:checked, [data-lq-region] details[open], dialog[open]") !== null ||
      active.closest("[data-lq-region]") !== null || (active.matches("input, select, textarea") && !bar.contains(active));
  };

  const stop = () => {
    stopped = true;
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = status.dataset.lqSignIn;
    status.replaceChildren(`${status.dataset.lqEnded} `, link, ` ${status.dataset.lqStopped}`);
  };

  const takeOver = (html) => {
    const fresh = regions(new DOMParser().parseFromString(html, "text/html"));
    const present = regions(document);
    if ([...fresh.keys()].join() !== [...present.keys()].join()) {
      location.reload(); // it has ended: the rest of the page changed too
      return;
    }
    const changed = [...present].filter(([name, part]) => part.dataset.lqVersion !== fresh.get(name).dataset.lqVersion);
    for (const [name, part] of changed) part.replaceWith(document.importNode(fresh.get(name), true));
    if (changed.some(([name]) => name === "rows")) countTicked();
  };

  // Admin's own script knows the boxes that were there at first. What it listens for is let go with the rows it was for.
  let listening = new AbortController();
  const countTicked = () => {
    const boxes = document.querySelectorAll("tr input.action-select");
    listening.abort();
    if (!boxes.length || !window.Actions) return;
    listening = new AbortController();
    const { signal } = listening;
    const listen = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (kind, does, options) { listen.call(this, kind, does, { ...options, signal }); };
    try {
      window.Actions(boxes);
    } finally {
      EventTarget.prototype.addEventListener = listen;
    }
  };

  const refresh = async () => {
    const address = new URL(location.href);
    address.hash = "";
    address.searchParams.set("_fragment", "1");
    const began = performance.now();
    const headers = etag ? { "If-None-Match": etag } : {};
    const response = await fetch(address, { credentials: "same-origin", redirect: "manual", cache: "no-store", headers });
    took = performance.now() - began;
    if (response.type === "opaqueredirect" || response.status === 401 || response.status === 403) {
      stop();
    } else if (response.ok) {
      const html = await response.text();
      if (inUse() && began < lastInput) return; // it began to be used meanwhile
      etag = response.headers.get("ETag") || "";
      takeOver(html);
    }
    if (!stopped && (response.ok || response.status === 304)) {
      status.querySelector("time").dateTime = new Date(Date.now() + ahead).toISOString();
      tick();
    }
  };

  const wait = () => {
    clearTimeout(timer);
    const seconds = Number(choice.value);
    if (stopped || !seconds) return;
    timer = setTimeout(async () => {
      try {
        if (!inUse()) await refresh();
      } catch {
        // The server is away for a moment.
      }
      wait();
    }, Math.max(seconds * 1000, Math.min(10 * took, LONGEST_MS)));
  };

  const chosen = localStorage.getItem(kept);
  if ([...choice.options].some((option) => option.value === chosen)) choice.value = chosen;
  choice.addEventListener("change", () => {
    localStorage.setItem(kept, choice.value);
    choice.blur();
    wait();
  });
  addEventListener("locqueue:refresh", () => refresh().catch(() => {}));
  bar.hidden = false;
  setInterval(() => { if (!document.hidden) tick(); }, 1000);
  wait();
})();

// A question is answered once, however often one clicks.
(() => {
  "use strict";
  for (const form of document.querySelectorAll("[data-lq-once]")) {
    let sent = false;
    form.addEventListener("submit", (event) => {
      if (sent) event.preventDefault();
      sent = true;
    });
    addEventListener("pageshow", () => { sent = false; }); // who comes back may send it again
  }
})();

// Keys, as the dialog data-lq-keys lists them.
(() => {
  "use strict";
  const help = document.querySelector("[data-lq-keys]");
  if (!help) return;
  let going = false; // after g
  let row = null;

  const move = (by) => {
    const rows = [...document.querySelectorAll("#result_list tbody tr, .lq-table tbody tr")].filter((each) => !help.contains(each));
    if (!rows.length) return;
    const at = rows.indexOf(row);
    row = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    const part = row.querySelector("a, button, input, summary");
    (part || row).focus();
    row.scrollIntoView({ block: "nearest" });
  };

  const act = {
    "/": () => document.getElementById("searchbar")?.focus(),
    "?": () => help.showModal(),
    j: () => move(1),
    k: () => move(-1),
    x: () => row?.querySelector("input.action-select")?.click(),
    r: () => (document.querySelector("[data-lq-refresh]") ? dispatchEvent(new Event("locqueue:refresh")) : location.reload()),
  };

  addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input:not([type=checkbox]), select, textarea, [contenteditable], dialog[open]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const link = going && document.querySelector(`[data-lq-key="${CSS.escape(event.key)}"]`);
    const does = link ? () => link.click() : act[event.key];
    going = event.key === "g" && !going;
    if (does) {
      event.preventDefault();
      does();
    }
  });
})();

// Buttons that copy the text of another part of the page. Without a script they are not there.
(() => {
  "use strict";
  const copy = async (button) => {
    const part = document.getElementById(button.dataset.lqCopy);
    try {
      await navigator.clipboard.writeText(part.textContent.trim());
      const word = button.textContent;
      button.textContent = button.dataset.lqCopied;
      setTimeout(() => { button.textContent = word; }, 2000);
    } catch {
      part.hidden = false;
      getSelection().selectAllChildren(part); // browsers give the clipboard to HTTPS only
    }
  };
  for (const button of document.querySelectorAll("[data-lq-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
})();
