package main

import (
	"encoding/hex"
	"fmt"
	"log"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"
)

// How a member is made.
type createOptions struct {
	Bind      string             `json:"bind"`
	Port      int                `json:"port"`
	Preset    string             `json:"preset"`
	Label     string             `json:"label"`
	Keys      []string           `json:"keys"`
	Compress  *bool              `json:"compress"`
	Meta      string             `json:"meta"`
	State     string             `json:"state"`
	Ack       string             `json:"ack"`
	Overrides map[string]float64 `json:"overrides"`
	LossOut   float64            `json:"lossOut"`
}

type member struct {
	name      string
	port      int
	list      *memberlist.Memberlist
	transport *countingTransport
	delegate  *delegate
	keys      *memberlist.Keyring
}

func newMember(name string, o createOptions, emit func(map[string]any)) (*member, error) {
	config, err := configFor(name, o)
	if err != nil {
		return nil, err
	}
	logger := log.New(&logWriter{node: name, emit: emit}, "", 0)
	transport, err := bindTransport(config.BindAddr, o.Port, o.LossOut, logger)
	if err != nil {
		return nil, err
	}
	d := &delegate{node: name, emit: emit}
	if err := d.set(o.Meta, o.State, o.Ack); err != nil {
		transport.Shutdown()
		return nil, err
	}
	config.Logger = logger
	config.Transport = transport
	config.BindPort = transport.port()
	config.AdvertisePort = config.BindPort
	config.Delegate = d
	config.Events = d
	config.Conflict = d
	if o.Ack != "" {
		config.Ping = d
	}
	list, err := memberlist.Create(config)
	if err != nil {
		transport.Shutdown()
		return nil, err
	}
	d.queue.RetransmitMult = config.RetransmitMult
	d.queue.NumNodes = list.NumMembers
	return &member{name, config.BindPort, list, transport, d, config.Keyring}, nil
}

func (m *member) perform(r request) (any, error) {
	timeout := time.Duration(r.TimeoutMs * float64(time.Millisecond))
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	switch r.Op {
	case "join":
		joined, err := m.list.Join(r.Addrs)
		if err != nil && joined == 0 {
			return nil, err
		}
		return map[string]any{"joined": joined}, nil
	case "leave":
		return nil, m.list.Leave(timeout)
	case "shutdown":
		return nil, m.list.Shutdown()
	case "setMeta":
		if err := m.delegate.setMeta(r.Meta); err != nil {
			return nil, err
		}
		return nil, m.list.UpdateNode(timeout)
	case "members":
		return m.members(), nil
	case "broadcast":
		payload, err := hex.DecodeString(r.Payload)
		if err == nil {
			m.delegate.queue.QueueBroadcast(userMessage(payload))
		}
		return nil, err
	case "sendTo":
		return nil, m.sendTo(r)
	case "setLoss":
		m.transport.setLoss(r.LossOut)
		return nil, nil
	case "setBlocked":
		m.transport.setBlocked(r.Addrs)
		return nil, nil
	case "stats":
		stats := m.transport.stats()
		stats["health"] = m.list.GetHealthScore()
		return stats, nil
	case "addKey", "useKey", "removeKey":
		return nil, m.changeKeys(r)
	}
	return nil, fmt.Errorf("unknown operation %q", r.Op)
}

func (m *member) members() []any {
	states := map[memberlist.NodeStateType]string{
		memberlist.StateAlive: "alive", memberlist.StateSuspect: "suspect", memberlist.StateDead: "dead", memberlist.StateLeft: "left",
	}
	found := []any{}
	for _, n := range m.list.Members() {
		found = append(found, map[string]any{
			"name": n.Name, "addr": n.Addr.String(), "port": n.Port, "meta": hex.EncodeToString(n.Meta), "state": states[n.State],
			"versions": []int{int(n.PMin), int(n.PMax), int(n.PCur), int(n.DMin), int(n.DMax), int(n.DCur)},
		})
	}
	return found
}

func (m *member) sendTo(r request) error {
	payload, err := hex.DecodeString(r.Payload)
	if err != nil {
		return err
	}
	host, portText, err := net.SplitHostPort(r.Addr)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return err
	}
	to := &memberlist.Node{Addr: net.ParseIP(host), Port: uint16(port)}
	// A member that is known gets what its protocol version understands.
	for _, n := range m.list.Members() {
		if n.Port == to.Port && n.Addr.Equal(to.Addr) {
			to = n
		}
	}
	if r.Reliable {
		return m.list.SendReliable(to, payload)
	}
	return m.list.SendBestEffort(to, payload)
}

func (m *member) changeKeys(r request) error {
	key, err := hex.DecodeString(r.Key)
	if err != nil {
		return err
	}
	if m.keys == nil {
		return fmt.Errorf("%q has no keys", m.name)
	}
	switch r.Op {
	case "addKey":
		return m.keys.AddKey(key)
	case "useKey":
		return m.keys.UseKey(key)
	}
	return m.keys.RemoveKey(key)
}
