// The body inside the window. Its commands are all that src-tauri offers: `converse` opens a conversation whose messages come
// through a channel (several at a time) until `end_conversation`, `say` sends one, `open_external` hands a web address to the
// system. What is shown never passes here: a resource has an address of its own, out://localhost/ID. `read_resource` gives the
// bytes of one to the page's own script.

import { Channel, convertFileSrc, invoke } from "@tauri-apps/api/core";
import { getCurrentWebview } from "@tauri-apps/api/webview";
import { getCurrentWindow } from "@tauri-apps/api/window";

import type { ServerMessage } from "./protocol";
import type { Platform, Transport, TransportEvents } from "./transport";

async function open(events: TransportEvents): Promise<Transport> {
  const incoming = new Channel<readonly ServerMessage[]>();
  incoming.onmessage = (messages) => {
    for (const message of messages) events.message(message);
    // An empty batch says that the socket to the owner is gone.
    if (messages.length === 0) events.closed("The part of Sandbook that holds your notebooks has ended.");
  };
  await invoke("converse", { incoming });
  return {
    send: (message) => {
      invoke("say", { message }).catch((error: unknown) => events.closed(String(error)));
    },
    close: () => {
      invoke("end_conversation").catch(() => undefined);
    },
  };
}

export function windowPlatform(): Platform {
  const ignore = (): void => undefined;
  return {
    kind: "window",
    open,
    // Systems spell a custom scheme differently; convertFileSrc knows how.
    resourceUrl: (resource) => convertFileSrc(resource, "out"),
    bytes: (resource) => invoke<ArrayBuffer>("read_resource", { id: resource }),
    openExternal: (url) => {
      invoke("open_external", { url }).catch(ignore);
    },
    window: {
      decorated: () =>
        getCurrentWindow()
          .isDecorated()
          .catch(() => true),
      minimise: () => void getCurrentWindow().minimize().catch(ignore),
      toggleMaximise: () => void getCurrentWindow().toggleMaximize().catch(ignore),
      close: () => void getCurrentWindow().close().catch(ignore),
    },
    onFilesDropped: (listener) => {
      getCurrentWebview()
        .onDragDropEvent((event) => {
          if (event.payload.type === "drop") listener(event.payload.paths);
        })
        .catch(ignore);
    },
  };
}
