// The body inside a browser. The printed address carries a one-time token in its fragment, which never reaches a server by
// itself; it is exchanged once for a session token, kept for this tab only and sent as the WebSocket's first message.

import { PROTOCOL_VERSION, type ClientMessage, type ServerMessage } from "./protocol";
import { NotAllowed, type Platform, type Transport, type TransportEvents } from "./transport";

const KEY = "sandbook-session";

const EXPIRED =
  "This page has no session any more. Nothing is lost, notebooks go on running. Open the address that `sandbook web` prints.";

async function exchange(oneTime: string): Promise<string> {
  const response = await fetch("/api/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: oneTime }),
    credentials: "omit",
  });
  if (!response.ok) throw new NotAllowed(EXPIRED);
  const answer = (await response.json()) as { token: string };
  return answer.token;
}

async function sessionToken(): Promise<string> {
  const oneTime = new URLSearchParams(location.hash.slice(1)).get("token");
  if (oneTime) {
    // The token is spent either way: it must not stay in the address bar or in the history.
    history.replaceState(null, "", location.pathname + location.search);
    const token = await exchange(oneTime);
    sessionStorage.setItem(KEY, token);
    return token;
  }
  const kept = sessionStorage.getItem(KEY);
  if (kept === null) throw new NotAllowed(EXPIRED);
  return kept;
}

async function open(events: TransportEvents): Promise<Transport> {
  const token = await sessionToken();
  const address = new URL("/api/socket", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(address);
  await new Promise<void>((resolve, reject) => {
    socket.onopen = () => resolve();
    socket.onerror = () => reject(new Error("Sandbook does not answer at this address."));
  });
  let refused = false;
  const send = (message: ClientMessage): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  socket.onmessage = (event: MessageEvent<string>) => {
    const message = JSON.parse(event.data) as ServerMessage;
    if (message.type === "refused") refused = true;
    if (message.type === "refused" && message.error.code === "not_allowed") sessionStorage.removeItem(KEY);
    events.message(message);
  };
  socket.onclose = () => {
    if (!refused) events.closed("The connection to Sandbook was cut.");
  };
  return {
    send: (message) => send(message.type === "hello" ? { ...message, version: PROTOCOL_VERSION, token } : message),
    close: () => socket.close(),
  };
}

async function bytes(resource: string): Promise<ArrayBuffer> {
  const authorization = `Bearer ${await sessionToken()}`;
  const answer = await fetch(`/api/resource/${encodeURIComponent(resource)}`, {
    headers: { authorization },
    credentials: "omit",
  });
  if (!answer.ok) throw new Error("The output could not be read. It is still in the notebook.");
  return answer.arrayBuffer();
}

export function webPlatform(): Platform {
  // An address pasted into a tab that is here already changes nothing but the part behind the #.
  addEventListener("hashchange", () => {
    if (new URLSearchParams(location.hash.slice(1)).has("token")) location.reload();
  });
  return {
    kind: "browser",
    open,
    resourceUrl: (resource, resources) => (resources === null ? null : resources + resource),
    bytes,
    openExternal: (url) => {
      window.open(url, "_blank", "noopener,noreferrer");
    },
    window: null,
    onFilesDropped: () => undefined,
  };
}
