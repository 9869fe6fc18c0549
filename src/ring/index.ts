export { type Owner, Ring, type RingOptions, type Site } from "./ring.ts";
