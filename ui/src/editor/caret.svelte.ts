/** Where the caret is, for the status bar. */
class Caret {
  cell = $state("");
  line = $state(1);
  column = $state(1);

  move(cell: string, line: number, column: number): void {
    this.cell = cell;
    this.line = line;
    this.column = column;
  }
}

export const caret = new Caret();
