export type { Decision, Intent, RoutingOptions } from "./decide.ts";
export { decide, ringKey } from "./decide.ts";
export type { MemberInfo, MemberStatus, MemberView } from "./member-view.ts";
