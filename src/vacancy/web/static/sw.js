// The part of a page that outlives it: shows what is pushed, opens it on a click, and follows a browser that is given
// another address by its push service. What it remembers was left in the cache by push.js.

const scope = new URL(self.registration.scope).pathname.replace(/\/$/, "");
const shelf = "vacancy-push";
const kept = `${scope}/push/told`;

function read(data) {
  try {
    return data.json();
  } catch {
    return {};
  }
}

// What is pushed is sealed with a key that only this site and this browser have; even so no script is opened.
function webAddress(link) {
  return typeof link === "string" && /^https?:\/\//.test(link) ? link : null;
}

function show({ title, body, tag, url, manageUrl, manage }) {
  const pages = { url: webAddress(url), manage: webAddress(manageUrl) };
  return self.registration.showNotification(String(title || "Vacancy"), {
    body: String(body || "Something opened."),
    // A message that comes again replaces itself without a sound.
    tag: tag ? String(tag) : undefined,
    data: pages,
    actions: pages.manage && manage ? [{ action: "manage", title: String(manage) }] : [],
  });
}

async function follow() {
  const shelved = await caches.open(shelf);
  const answer = await shelved.match(kept);
  const told = answer ? await answer.json() : [];
  if (!told.length) return;
  const subscription = await subscribed();
  const moved = [];
  for (const each of told) moved.push((await move(each, JSON.stringify(subscription))) ?? each);
  await shelved.put(kept, new Response(JSON.stringify(moved)));
}

async function subscribed() {
  const { pushManager } = self.registration;
  const { publicKey } = await (await fetch(`${scope}/api/webpush/key`)).json();
  return (await pushManager.getSubscription()) ?? pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
}

// The same wish under the new address first: in between, an opening is told to one of them.
async function move(each, contactValue) {
  const found = await fetch(`${scope}/api/subscriptions/${each.subscriptionId}`, { headers: { Authorization: `Bearer ${each.manageToken}` } });
  if (!found.ok) return null;
  const { topic, locale, preferences, status } = await found.json();
  if (status !== "active" && status !== "paused") return null;
  const made = await post("subscribe", { topic, locale, preferences, contactType: "webpush", contactValue });
  if (made.status !== 201) return null;
  await post("unsubscribe", { unsubscribeToken: each.unsubscribeToken, reason: "browser moved" });
  const { subscriptionId, manageToken, unsubscribeToken } = await made.json();
  return { topic, subscriptionId, manageToken, unsubscribeToken };
}

function post(verb, body) {
  return fetch(`${scope}/api/${verb}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("push", (event) => event.waitUntil(show(read(event.data))));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { url, manage } = event.notification.data ?? {};
  const page = event.action === "manage" ? manage : url;
  if (page) event.waitUntil(self.clients.openWindow(page));
});
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(follow()));
