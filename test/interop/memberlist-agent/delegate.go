package main

import (
	"encoding/hex"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// What the program knows and hears: memberlist calls it, it passes everything on as events.
type delegate struct {
	node  string
	emit  func(map[string]any)
	queue memberlist.TransmitLimitedQueue

	mutex sync.Mutex
	meta  []byte
	state []byte
	ack   []byte
}

func (d *delegate) set(meta, state, ack string) (err error) {
	if d.state, err = hex.DecodeString(state); err != nil {
		return err
	}
	if d.ack, err = hex.DecodeString(ack); err != nil {
		return err
	}
	return d.setMeta(meta)
}

func (d *delegate) setMeta(text string) error {
	meta, err := hex.DecodeString(text)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.meta = meta
	return err
}

func (d *delegate) NodeMeta(limit int) []byte {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.meta
}

func (d *delegate) NotifyMsg(payload []byte) {
	d.emit(map[string]any{"event": "message", "node": d.node, "payload": hex.EncodeToString(payload)})
}

func (d *delegate) GetBroadcasts(overhead, limit int) [][]byte {
	return d.queue.GetBroadcasts(overhead, limit)
}

func (d *delegate) LocalState(join bool) []byte { return d.state }

func (d *delegate) MergeRemoteState(state []byte, join bool) {
	if len(state) > 0 {
		d.emit(map[string]any{"event": "state", "node": d.node, "bytes": len(state), "join": join})
	}
}

func (d *delegate) NotifyJoin(n *memberlist.Node)   { d.change("join", n) }
func (d *delegate) NotifyLeave(n *memberlist.Node)  { d.change("leave", n) }
func (d *delegate) NotifyUpdate(n *memberlist.Node) { d.change("update", n) }

func (d *delegate) change(event string, n *memberlist.Node) {
	d.emit(map[string]any{"event": event, "node": d.node, "member": n.Name, "addr": address(n), "meta": hex.EncodeToString(n.Meta)})
}

func (d *delegate) NotifyConflict(existing, other *memberlist.Node) {
	d.emit(map[string]any{"event": "conflict", "node": d.node, "member": existing.Name, "addr": address(existing), "other": address(other)})
}

func (d *delegate) AckPayload() []byte { return d.ack }

func (d *delegate) NotifyPingComplete(other *memberlist.Node, rtt time.Duration, payload []byte) {
	ms := float64(rtt) / float64(time.Millisecond)
	d.emit(map[string]any{"event": "ping", "node": d.node, "member": other.Name, "payload": hex.EncodeToString(payload), "rttMs": ms})
}

func address(n *memberlist.Node) string {
	return net.JoinHostPort(n.Addr.String(), strconv.Itoa(int(n.Port)))
}

// A message of the user, which no other replaces.
type userMessage []byte

func (m userMessage) Invalidates(memberlist.Broadcast) bool { return false }
func (m userMessage) Message() []byte                       { return m }
func (m userMessage) Finished()                             {}

// Passes on the lines that a test may want to see.
type logWriter struct {
	node string
	emit func(map[string]any)
}

func (w *logWriter) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	for _, mark := range []string{"[WARN]", "[ERR]", "uspect", "efut"} {
		if strings.Contains(text, mark) {
			w.emit(map[string]any{"event": "log", "node": w.node, "line": text})
			break
		}
	}
	return len(line), nil
}
