// Where in a still text a person clicked, so that the editor that takes its place gets its caret there.

interface WithCaretPosition {
  caretPositionFromPoint?: (x: number, y: number) => { offsetNode: Node; offset: number } | null;
}

function placeAt(x: number, y: number): { node: Node; offset: number } | null {
  const modern = (document as WithCaretPosition).caretPositionFromPoint?.(x, y);
  if (modern) return { node: modern.offsetNode, offset: modern.offset };
  const range = document.caretRangeFromPoint?.(x, y);
  return range ? { node: range.startContainer, offset: range.startOffset } : null;
}

/** The offset in the text of `root` that lies under a point, or null when the point is elsewhere. */
export function offsetAtPoint(root: Node, x: number, y: number): number | null {
  const place = placeAt(x, y);
  if (!place || !root.contains(place.node)) return null;
  const range = document.createRange();
  range.setStart(root, 0);
  range.setEnd(place.node, place.offset);
  return range.toString().length;
}
