// Keeps the board live. Everything here was on the page already when it was served; without scripts it is reloaded.

const list = document.getElementById("openings");
const root = list.dataset.root;
const most = Number(list.dataset.most);
const campuses = { NB: "New Brunswick", NK: "Newark", CM: "Camden" };
const states = { new: ["◌", "new"], fresh: ["●", "fresh"], stale: ["▲", "stale"], held: ["◆", "being checked"], paused: ["❚❚", "paused"] };
const steps = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function ago(iso) {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(iso)) / 1000));
  for (const [size, unit] of steps) if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  return "just now";
}

function tick() {
  for (const time of document.querySelectorAll("time.ago")) {
    const text = (time.dataset.before ?? "") + ago(time.dateTime);
    if (time.textContent !== text) time.textContent = text;
    if (!time.dataset.before) time.title = new Date(time.dateTime).toLocaleString();
  }
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Text from upstream: a link that is not a web address may be a script.
function webAddress(link) {
  return typeof link === "string" && /^https?:\/\//.test(link) ? link : null;
}

function linked(link, className, text) {
  const made = element("a", className, text);
  made.href = link;
  made.rel = "noopener noreferrer";
  return made;
}

const verbs = { soc: "Register", resy: "Book" };

function describe(event) {
  const payload = event.payload ?? {};
  const index = event.indexNumber;
  const title = payload.courseTitle || payload.title || payload.label || (index ? `Index ${index}` : event.itemKey);
  const facts = [
    payload.courseString,
    payload.sectionNumber && `Section ${payload.sectionNumber}`,
    index && payload.courseTitle && `Index ${index}`,
    payload.meetingSummary,
    ...(Array.isArray(payload.lines) ? payload.lines : []),
    campuses[event.campusCode] ?? event.campusCode,
    index ? null : event.source,
  ].filter(Boolean);
  const topic = Array.isArray(event.topics) ? event.topics[0] : null;
  return { title: String(title), facts, link: webAddress(payload.link), verb: verbs[event.source] ?? "Go there", topic };
}

function entry(event) {
  const { title, facts, link, verb, topic } = describe(event);
  const item = element("li", "opening");
  item.dataset.id = event.openEventId;
  item.dataset.fresh = "";
  const heading = element("h3", "", link ? undefined : title);
  if (link) heading.append(linked(link, "", title));
  const said = element("p", "facts");
  said.append(...facts.map((fact) => element("span", "", fact)));
  const what = element("div", "what");
  what.append(heading, said);
  const time = element("time", "ago");
  time.dateTime = event.eventAt;
  const when = element("div", "when");
  when.append(time);
  if (link) {
    const go = linked(link, "go", verb);
    go.append(element("span", "hidden", ` for ${title}`));
    when.append(go);
  }
  if (topic) {
    const wait = element("a", "wait", "Subscribe");
    wait.href = `${root}/subscribe?topic=${encodeURIComponent(topic)}`;
    wait.append(element("span", "hidden", ` to ${title}`));
    when.append(wait);
  }
  item.append(what, when);
  return item;
}

function opened(message) {
  const event = JSON.parse(message.data);
  if (list.querySelector(`[data-id="${Number(event.openEventId)}"]`)) return;
  list.prepend(entry(event));
  document.getElementById("none").hidden = true;
  document.getElementById("announce").textContent = `Open now: ${describe(event).title}`;
  // Whoever stands on a link must not have it taken away.
  while (list.children.length > most && !list.lastElementChild.contains(document.activeElement)) list.lastElementChild.remove();
  tick();
}

function listen() {
  const live = document.getElementById("live");
  const say = (text, state) => {
    live.hidden = false;
    live.dataset.state = state;
    if (live.textContent !== text) live.textContent = text;
  };
  const stream = new EventSource(`${root}/api/events/stream?status=Open&after_id=${list.dataset.after}`);
  stream.addEventListener("open", () => say("live", "on"));
  stream.addEventListener("opening", opened);
  stream.addEventListener("error", () => {
    say("reconnecting", "off");
    // The browser gives up for good after an answer that is no stream, such as an expired cursor: a new page has a new one.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), 15000);
  });
}

function show(target) {
  const row = [...document.querySelectorAll(".target")].find((li) => li.dataset.source === target.source && li.dataset.key === target.key);
  if (!row) return;
  const [icon, word] = states[target.state] ?? ["?", target.state];
  row.dataset.state = target.state;
  row.querySelector(".icon").textContent = icon;
  row.querySelector(".word").textContent = word;
  row.querySelector(".number").textContent = target.openCount.toLocaleString("en");
  row.querySelector(".trouble")?.remove();
  if (target.failures && target.lastError) row.append(element("p", "trouble", target.lastError.message));
  if (!target.lastCompleteAt) return;
  let time = row.querySelector("time");
  if (!time) {
    time = element("time", "ago");
    time.dataset.before = "checked ";
    row.querySelector(".checked").replaceChildren(time);
  }
  time.dateTime = target.lastCompleteAt;
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(`${root}/api/targets`);
    if (!answer.ok) return;
    const { items } = await answer.json();
    items.forEach(show);
    const open = items.reduce((sum, target) => sum + target.openCount, 0);
    document.getElementById("open-now").textContent = open.toLocaleString("en");
    document.getElementById("sign").dataset.open = open ? "yes" : "no";
    tick();
  } catch {
    // Offline for a moment; the next round tells.
  }
}

tick();
listen();
setInterval(tick, 1000);
setInterval(refresh, 5000);
document.addEventListener("visibilitychange", refresh);
