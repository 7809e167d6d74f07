// Which reply belongs to which command: the contract says it in words, this says it to the compiler.

import type { Command, Reply } from "./protocol";

interface Replies {
  watch_workspace: "workspace";
  watch_logs: "logs";
  list_folder: "folder";
  open_document: "document";
  new_document: "document";
  list_documents: "documents";
  save: "saved";
  compare_with_disk: "comparison";
  edit_source: "edited";
  insert_cell: "cells";
  split_cell: "cells";
  paste_cells: "cells";
  undo: "cells";
  redo: "cells";
  copy_cells: "text";
  survey_runtime: "survey";
  choose_sandbox: "sandbox";
  complete: "completion";
  inspect: "inspection";
  output_lines: "lines";
  search_outputs: "matches";
  output_text: "resource";
  resource_text: "text";
  read_pasted: "recognised";
  connect: "connection";
  connect_account: "connection";
  add_credential: "credential";
  replace_credential: "credential";
  keep_credential: "credential";
  import_credential: "credential";
  test_credential: "credential_checked";
  delete_credential: "credential_deleted";
  list_credential_imports: "credential_imports";
  list_server_kernels: "server_kernels";
  create_environment: "kernel";
  open_web_door: "web_door";
}

type Named<T extends string> = T extends keyof Replies ? Replies[T] : "done";

/** The reply to a command. */
export type Answer<C extends Command> = Extract<Reply, { type: Named<C["type"]> }>;
