"""Ways out of a page that is shut in: each would reach *at*, a listener that counts connections."""

from __future__ import annotations

import socket
import threading

WAYS = {
    "script": "<script>fetch('{at}/script')</script>",
    "script src": "<script src='{at}/src'></script>",
    "module": "<script type=module>import '{at}/module'</script>",
    "onerror": "<img src=x onerror=\"fetch('{at}/onerror')\">",
    "onload": "<body onload=\"location='{at}/onload'\">",
    "svg onload": "<svg onload=\"fetch('{at}/svg')\"></svg>",
    "svg image": "<svg><image href='{at}/svgimage'/></svg>",
    "svg use": "<svg><use href='{at}/use#x'/></svg>",
    "javascript link": "<a id=j href=\"javascript:fetch('{at}/js')\">here</a>",
    "meta refresh": '<meta http-equiv=refresh content="0;url={at}/refresh">',
    "base": "<base href='{at}/'><img src=based>",
    "image": "<img src='{at}/image'>",
    "srcset": "<img srcset='{at}/srcset 2x'>",
    "picture": "<picture><source srcset='{at}/picture'><img></picture>",
    "background": "<body background='{at}/background'>",
    "style url": '<div style="background:url({at}/style)">x</div>',
    "style element": "<style>body{{background:url({at}/css)}}</style>",
    "css import": "<style>@import '{at}/import';</style>",
    "stylesheet": "<link rel=stylesheet href='{at}/sheet'>",
    "font": "<style>@font-face{{font-family:f;src:url({at}/font)}}*{{font-family:f}}</style>",
    "preconnect": "<link rel=preconnect href='{at}'>",
    "prefetch": "<link rel=prefetch href='{at}/prefetch'>",
    "preload": "<link rel=preload as=image href='{at}/preload'>",
    "dns-prefetch": "<link rel=dns-prefetch href='{at}'>",
    "prerender": "<link rel=prerender href='{at}/prerender'>",
    "icon": "<link rel=icon href='{at}/icon'>",
    "manifest": "<link rel=manifest href='{at}/manifest'>",
    "iframe": "<iframe src='{at}/iframe'></iframe>",
    "srcdoc": "<iframe srcdoc=\"<img src='{at}/srcdoc'>\"></iframe>",
    "object": "<object data='{at}/object'></object>",
    "embed": "<embed src='{at}/embed'>",
    "video": "<video src='{at}/video' autoplay></video>",
    "poster": "<video poster='{at}/poster'></video>",
    "audio": "<audio src='{at}/audio' autoplay></audio>",
    "track": "<video><track default src='{at}/track'></video>",
    "form": "<form action='{at}/form'><button id=send autofocus>go</button></form>",
    "input image": "<input type=image src='{at}/inputimage'>",
    "ping": "<a ping='{at}/ping' href='#'>x</a>",
    "target": "<a id=t target=_top href='{at}/top'>out</a>",
    "worker": "<script>new Worker('{at}/worker')</script>",
    "websocket": "<script>new WebSocket('{at}'.replace('http','ws'))</script>",
    "beacon": "<script>navigator.sendBeacon('{at}/beacon')</script>",
    "opener": "<script>window.open('{at}/open')</script>",
    "portal": "<portal src='{at}/portal'></portal>",
    "math": "<math href='{at}/math'><mi>x</mi></math>",
    "template": "<template shadowrootmode=open><img src='{at}/shadow'></template>",
    "noscript": "<noscript><img src='{at}/noscript'></noscript>",
    "mutation": "<math><mtext><table><mglyph><style><img src='{at}/mxss'></style></mglyph>",
    "comment": "<!--><img src='{at}/comment'>-->",
}


def page(at: str) -> bytes:
    """A page that tries all of them."""
    body = "\n".join(way.format(at=at) for way in WAYS.values())
    words = f"<p>Words that stay.</p><a id=plain href='{at}/click'>A link</a>"
    return f"<!DOCTYPE html><html><head><title>Way out</title></head><body>{words}{body}".encode()


class Listener:
    """Counts connections to a port of its own."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.at = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.connections = 0
        self._thread = threading.Thread(target=self._count, daemon=True)
        self._thread.start()

    def _count(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
