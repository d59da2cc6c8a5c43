// The service worker: ReplayWeb.page's own, whose every answer gets the headers of this origin.
// A page that is replayed can undo what its scripts were rewritten to; it cannot undo these.
"use strict";
const HEADERS = /*headers*/ {};
const DROPPED = ["link", "nel", "refresh", "report-to", "reporting-endpoints"];
function guarded(answer) {
  if (answer.type === "error" || answer.type.startsWith("opaque")) return answer;
  const next = answer.headers.get("Location");
  if (next) return new URL(next, self.location).origin === self.origin ? answer : Response.error();
  const headers = new Headers(answer.headers);
  for (const name of DROPPED) headers.delete(name);
  for (const name in HEADERS) headers.set(name, HEADERS[name]);
  const { status, statusText } = answer;
  return new Response(answer.body, { status, statusText, headers });
}

if (self.FetchEvent) {  // the program runs it as a plain worker too
  const respond = FetchEvent.prototype.respondWith;
  FetchEvent.prototype.respondWith = function (answer) {
    // Nothing is shown without the frame that shuts it in: a tab of its own can go anywhere.
    const alone = this.request.destination === "document";
    const told = () => new Response("open it from the page of the paper\n", { status: 403 });
    respond.call(this, alone ? told() : Promise.resolve(answer).then(guarded));
  };
}

importScripts("/replay/program.js");
