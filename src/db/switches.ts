/** What kind of work a process does. Changes go to jobs first: they are tried again without anyone noticing. */
export type ProcessRole = "web" | "job";

/** What can be turned on and off while a load balancer runs. */
export interface SwitchValues {
  /** Reads go to replicas at all; off: everything runs on the primary. Default on. */
  readonly replicaReads: boolean;
  /** A standby that feeds others says where its log ends; off: the primary's question is put to every server. Default on. */
  readonly useNewLoadBalancerQuery: boolean;
  /** No replica is too late by time. Default off. */
  readonly ignoreReplicationLagTime: boolean;
  /** Replicas may be twice as late. Default off. */
  readonly doubleReplicationLagTime: boolean;
  /** Sticking in Redis compares before it writes or removes; off: for servers that run no scripts, the last write wins. Default on. */
  readonly atomicSticking: boolean;
}

export type SwitchName = keyof SwitchValues;

/** On or off, for all processes or by what they do; a role that is not named keeps the default. */
export type SwitchSetting = boolean | { readonly [role in ProcessRole]?: boolean };

export type SwitchSettings = { readonly [name in SwitchName]?: SwitchSetting };

export const defaultSwitches: SwitchValues = {
  replicaReads: true,
  useNewLoadBalancerQuery: true,
  ignoreReplicationLagTime: false,
  doubleReplicationLagTime: false,
  atomicSticking: true,
};

/** The switches of one process. Whoever reads one sees what was set last. */
export class Switches implements SwitchValues {
  readonly role: ProcessRole;
  readonly #values: { -readonly [name in SwitchName]: boolean };

  constructor(settings: SwitchSettings, role: ProcessRole) {
    this.role = role;
    this.#values = { ...defaultSwitches };
    for (const [name, setting] of Object.entries(settings)) this.set(name as SwitchName, setting);
  }

  /** Changes one switch. The same setting may be handed to every process: each takes what is for its role. */
  set(name: SwitchName, setting: SwitchSetting): void {
    this.#values[name] = typeof setting === "boolean" ? setting : (setting[this.role] ?? defaultSwitches[name]);
  }

  get replicaReads(): boolean {
    return this.#values.replicaReads;
  }

  get useNewLoadBalancerQuery(): boolean {
    return this.#values.useNewLoadBalancerQuery;
  }

  get ignoreReplicationLagTime(): boolean {
    return this.#values.ignoreReplicationLagTime;
  }

  get doubleReplicationLagTime(): boolean {
    return this.#values.doubleReplicationLagTime;
  }

  get atomicSticking(): boolean {
    return this.#values.atomicSticking;
  }
}
