// What a person can do to the open notebook. Each action is a command to the owner.

export * from "./cells";
export * from "./file";
export * from "./run";
export { flush, targets } from "./targets";
