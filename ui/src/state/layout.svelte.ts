// What is open around the notebook. Kept on this computer per browser or window: it is no setting, only where things stood.

export type SidePanel = "outline" | "runtimes";
export type BottomPanel = "logs";

interface Kept {
  side: SidePanel | null;
  sideWidth: number;
  bottomHeight: number;
}

const KEY = "sandbook-layout";
const DEFAULT: Kept = { side: "outline", sideWidth: 272, bottomHeight: 206 };

export const SIDE_LEAST = 220;
export const SIDE_MOST = 480;
export const BOTTOM_LEAST = 120;
/** Under this window width the rail loses its labels and the sidebar opens as a drawer. */
export const NARROW = 1000;

function read(): Kept {
  try {
    return { ...DEFAULT, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>) };
  } catch {
    return DEFAULT;
  }
}

export class Layout {
  side: SidePanel | null = $state(null);
  drawer: SidePanel | null = $state(null);
  bottom: BottomPanel | null = $state(null);
  sideWidth = $state(DEFAULT.sideWidth);
  bottomHeight = $state(DEFAULT.bottomHeight);
  narrow = $state(false);

  constructor() {
    const kept = read();
    this.side = kept.side;
    this.sideWidth = Math.min(SIDE_MOST, Math.max(SIDE_LEAST, kept.sideWidth));
    this.bottomHeight = Math.max(BOTTOM_LEAST, kept.bottomHeight);
  }

  get open(): SidePanel | null {
    return this.narrow ? this.drawer : this.side;
  }

  toggleSide(panel: SidePanel): void {
    if (this.narrow) this.drawer = this.drawer === panel ? null : panel;
    else this.side = this.side === panel ? null : panel;
    this.keep();
  }

  toggleBottom(panel: BottomPanel): void {
    this.bottom = this.bottom === panel ? null : panel;
  }

  keep(): void {
    const kept: Kept = { side: this.side, sideWidth: this.sideWidth, bottomHeight: this.bottomHeight };
    try {
      localStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
      // A browser without storage forgets where panels stood; nothing depends on it.
    }
  }
}
