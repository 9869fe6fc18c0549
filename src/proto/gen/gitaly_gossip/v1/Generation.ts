// Original file: proto/gitaly_gossip/v1/generation.proto

import type { Artifact as _gitaly_gossip_v1_Artifact, Artifact__Output as _gitaly_gossip_v1_Artifact__Output } from '../../gitaly_gossip/v1/Artifact.ts';
import type { Pack as _gitaly_gossip_v1_Pack, Pack__Output as _gitaly_gossip_v1_Pack__Output } from '../../gitaly_gossip/v1/Pack.ts';
import type { Settings as _gitaly_gossip_v1_Settings, Settings__Output as _gitaly_gossip_v1_Settings__Output } from '../../gitaly_gossip/v1/Settings.ts';
import type { Long } from '@grpc/proto-loader';

// Original file: proto/gitaly_gossip/v1/generation.proto

export const _gitaly_gossip_v1_Generation_ObjectFormat = {
  OBJECT_FORMAT_UNSPECIFIED: 'OBJECT_FORMAT_UNSPECIFIED',
  OBJECT_FORMAT_SHA1: 'OBJECT_FORMAT_SHA1',
  OBJECT_FORMAT_SHA256: 'OBJECT_FORMAT_SHA256',
} as const;

export type _gitaly_gossip_v1_Generation_ObjectFormat =
  | 'OBJECT_FORMAT_UNSPECIFIED'
  | 0
  | 'OBJECT_FORMAT_SHA1'
  | 1
  | 'OBJECT_FORMAT_SHA256'
  | 2

export type _gitaly_gossip_v1_Generation_ObjectFormat__Output = typeof _gitaly_gossip_v1_Generation_ObjectFormat[keyof typeof _gitaly_gossip_v1_Generation_ObjectFormat]

// Original file: proto/gitaly_gossip/v1/generation.proto

export const _gitaly_gossip_v1_Generation_State = {
  STATE_UNSPECIFIED: 'STATE_UNSPECIFIED',
  STATE_LIVE: 'STATE_LIVE',
  STATE_DELETED: 'STATE_DELETED',
} as const;

export type _gitaly_gossip_v1_Generation_State =
  | 'STATE_UNSPECIFIED'
  | 0
  | 'STATE_LIVE'
  | 1
  | 'STATE_DELETED'
  | 2

export type _gitaly_gossip_v1_Generation_State__Output = typeof _gitaly_gossip_v1_Generation_State[keyof typeof _gitaly_gossip_v1_Generation_State]

export interface Generation {
  'format'?: (number);
  'n'?: (number | string | Long);
  'parentDigest'?: (Buffer | Uint8Array | string);
  'txid'?: (string);
  'writer'?: (string);
  'writtenAtMs'?: (number | string | Long);
  'state'?: (_gitaly_gossip_v1_Generation_State);
  'repoId'?: (string);
  'poolId'?: (string);
  'path'?: (string);
  'objectFormat'?: (_gitaly_gossip_v1_Generation_ObjectFormat);
  'createdAtMs'?: (number | string | Long);
  'head'?: (Buffer | Uint8Array | string);
  'refTables'?: (_gitaly_gossip_v1_Artifact)[];
  'inlineRefTable'?: (Buffer | Uint8Array | string);
  'packs'?: (_gitaly_gossip_v1_Pack)[];
  'settings'?: (_gitaly_gossip_v1_Settings | null);
  'pruneEpoch'?: (number | string | Long);
  'gcEpoch'?: (number | string | Long);
  'bumpGen'?: (number | string | Long);
  'trash'?: ({[key: string]: number | string | Long});
}

export interface Generation__Output {
  'format': (number);
  'n': (string);
  'parentDigest': (Buffer);
  'txid': (string);
  'writer': (string);
  'writtenAtMs': (string);
  'state': (_gitaly_gossip_v1_Generation_State__Output);
  'repoId': (string);
  'poolId': (string);
  'path': (string);
  'objectFormat': (_gitaly_gossip_v1_Generation_ObjectFormat__Output);
  'createdAtMs': (string);
  'head': (Buffer);
  'refTables': (_gitaly_gossip_v1_Artifact__Output)[];
  'inlineRefTable': (Buffer);
  'packs': (_gitaly_gossip_v1_Pack__Output)[];
  'settings': (_gitaly_gossip_v1_Settings__Output | null);
  'pruneEpoch': (string);
  'gcEpoch': (string);
  'bumpGen': (string);
  'trash': ({[key: string]: string});
}
