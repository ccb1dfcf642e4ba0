// "Tell this browser": subscribes it to what this page is about. Without scripts, or where a browser takes no pushes,
// the part of the page stays hidden.

const shelf = "vacancy-push";
const part = document.getElementById("browser");
const { root, topic } = part.dataset;
const button = part.querySelector("button");
const said = document.getElementById("browser-said");
const kept = `${root}/push/told`;
const able = window.isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

class Refused extends Error {}

function say(text, link, kind = "") {
  said.className = kind;
  said.replaceChildren(text);
  if (!link) return;
  const leads = document.createElement("a");
  leads.href = link;
  leads.textContent = "Change or stop it";
  said.append(" ", leads);
}

async function remembered() {
  const answer = await (await caches.open(shelf)).match(kept);
  return answer ? answer.json() : [];
}

async function keep(told) {
  await (await caches.open(shelf)).put(kept, new Response(JSON.stringify(told)));
}

async function others() {
  return (await remembered()).filter((each) => each.topic !== topic);
}

// What is remembered of this topic, unless it has ended since.
async function current() {
  const one = (await remembered()).find((each) => each.topic === topic);
  if (!one) return null;
  const answer = await fetch(`${root}/api/subscriptions/${one.subscriptionId}`, { headers: { Authorization: `Bearer ${one.manageToken}` } });
  if (answer.ok && ["active", "paused"].includes((await answer.json()).status)) return one;
  if (answer.ok || answer.status === 404) await keep(await others());
  return null;
}

function managed(one) {
  return `${root}/manage/${one.subscriptionId}?token=${one.manageToken}`;
}

async function ask(path, options) {
  const answer = await fetch(`${root}${path}`, options);
  const body = await answer.json();
  if (!answer.ok) throw new Refused(body.error.message);
  return body;
}

function post(path, body) {
  return ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

function sameKey(subscription, publicKey) {
  const bytes = new Uint8Array(subscription.options.applicationServerKey ?? []);
  const text = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return text === publicKey;
}

async function subscribed() {
  await navigator.serviceWorker.register(`${root}/sw.js`);
  const { pushManager } = await navigator.serviceWorker.ready;
  const { publicKey } = await ask("/api/webpush/key");
  const before = await pushManager.getSubscription();
  if (before && sameKey(before, publicKey)) return before;
  // One under another key of this site would never hear anything.
  await before?.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: publicKey });
}

function minutes(time) {
  const [hours, rest] = time.split(":").map(Number);
  return hours * 60 + rest;
}

// The choices of the form beside it. Kept is the window in which messages may come, which is the other way round.
function preferences() {
  const { alerts, quietFrom, quietTo } = document.querySelector("form.sheet").elements;
  const chosen = { maxNotifications: Number(alerts.value) };
  if (quietFrom.value && quietTo.value) chosen.deliveryWindow = { startMinutes: minutes(quietTo.value), endMinutes: minutes(quietFrom.value) || 1440 };
  return chosen;
}

function language() {
  return /^[a-z]{2,3}(-[A-Z]{2})?$/.test(navigator.language) ? { locale: navigator.language } : {};
}

async function tell() {
  if ((await Notification.requestPermission()) !== "granted") throw new Refused("This browser may not show notifications for this site. Allow it in the site's settings, then press again.");
  const contactValue = JSON.stringify(await subscribed());
  const one = await post("/api/subscribe", { topic, contactType: "webpush", contactValue, preferences: preferences(), ...language() });
  const { subscriptionId, manageToken, unsubscribeToken } = one;
  // Somebody who was here already is not told the tokens again, and has them.
  if (manageToken) await keep([...(await others()), { topic, subscriptionId, manageToken, unsubscribeToken }]);
  await show("This browser is told the moment it opens.");
}

async function show(text) {
  const one = await current();
  if (text || one) say(text ?? "This browser is told already.", one && managed(one), "good");
}

async function pressed() {
  button.disabled = true;
  say("Asking this browser …");
  try {
    await tell();
  } catch (problem) {
    say(problem instanceof Refused ? problem.message : "This browser could not be subscribed. Its push service may be out of reach, or switched off.", null, "problem");
  } finally {
    button.disabled = false;
  }
}

if (able) {
  part.hidden = false;
  button.addEventListener("click", pressed);
  if (Notification.permission === "granted") show();
}
