package main

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/hashicorp/memberlist"
)

func configFor(name string, o createOptions) (*memberlist.Config, error) {
	config, err := preset(o.Preset)
	if err != nil {
		return nil, err
	}
	config.Name = name
	config.BindAddr = "127.0.0.1"
	if o.Bind != "" {
		config.BindAddr = o.Bind
	}
	config.AdvertiseAddr = config.BindAddr
	if o.Compress != nil {
		config.EnableCompression = *o.Compress
	}
	if err := setLabel(config, o.Label); err != nil {
		return nil, err
	}
	keys := [][]byte{}
	for _, text := range o.Keys {
		key, err := hex.DecodeString(text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) > 0 {
		if config.Keyring, err = memberlist.NewKeyring(keys, keys[0]); err != nil {
			return nil, err
		}
	}
	for key, value := range o.Overrides {
		if !override(config, key, value) {
			return nil, fmt.Errorf("unknown override %q", key)
		}
	}
	return config, nil
}

func preset(name string) (*memberlist.Config, error) {
	switch name {
	case "", "lan":
		return memberlist.DefaultLANConfig(), nil
	case "wan":
		return memberlist.DefaultWANConfig(), nil
	case "local":
		return memberlist.DefaultLocalConfig(), nil
	}
	return nil, fmt.Errorf("unknown preset %q", name)
}

// Sets one value; booleans are 0 or 1.
func override(config *memberlist.Config, key string, value float64) bool {
	number := int(value)
	duration := time.Duration(value * float64(time.Millisecond))
	switch key {
	case "probeIntervalMs":
		config.ProbeInterval = duration
	case "probeTimeoutMs":
		config.ProbeTimeout = duration
	case "indirectChecks":
		config.IndirectChecks = number
	case "suspicionMultiplier":
		config.SuspicionMult = number
	case "suspicionMaxMultiplier":
		config.SuspicionMaxTimeoutMult = number
	case "awarenessMaxMultiplier":
		config.AwarenessMaxMultiplier = number
	case "gossipIntervalMs":
		config.GossipInterval = duration
	case "gossipNodes":
		config.GossipNodes = number
	case "gossipToTheDeadMs":
		config.GossipToTheDeadTime = duration
	case "retransmitMultiplier":
		config.RetransmitMult = number
	case "pushPullIntervalMs":
		config.PushPullInterval = duration
	case "streamTimeoutMs":
		config.TCPTimeout = duration
	case "packetBytes":
		config.UDPBufferSize = number
	case "deadNodeReclaimMs":
		config.DeadNodeReclaimTime = duration
	case "protocolVersion":
		config.ProtocolVersion = uint8(number)
	case "verifyIncoming":
		config.GossipVerifyIncoming = value != 0
	case "verifyOutgoing":
		config.GossipVerifyOutgoing = value != 0
	default:
		return false
	}
	return true
}
