package main

import (
	"log"
	"math"
	"math/rand"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// UDP and TCP as memberlist has them, counted, with packets lost on request and addresses that cannot be reached.
// Bytes of a stream count for the side that opened it.
type countingTransport struct {
	*memberlist.NetTransport
	packets  chan *memberlist.Packet
	stop     chan struct{}
	lossBits uint64
	blocked  atomic.Value // map[string]bool

	packetsOut, packetBytesOut, packetsIn, packetBytesIn, dials, streamBytes int64
}

func bindTransport(host string, port int, loss float64, logger *log.Logger) (*countingTransport, error) {
	config := &memberlist.NetTransportConfig{BindAddrs: []string{host}, BindPort: port, Logger: logger}
	inner, err := memberlist.NewNetTransport(config)
	// A free TCP port may be taken for UDP: then another one may be free for both.
	for attempt := 1; err != nil && port == 0 && attempt < 10 && strings.Contains(err.Error(), "address already in use"); attempt++ {
		inner, err = memberlist.NewNetTransport(config)
	}
	if err != nil {
		return nil, err
	}
	t := &countingTransport{NetTransport: inner, packets: make(chan *memberlist.Packet), stop: make(chan struct{})}
	t.setLoss(loss)
	t.setBlocked(nil)
	go t.receive()
	return t, nil
}

func (t *countingTransport) port() int { return t.GetAutoBindPort() }

func (t *countingTransport) setLoss(share float64) {
	atomic.StoreUint64(&t.lossBits, math.Float64bits(share))
}

func (t *countingTransport) setBlocked(addrs []string) {
	blocked := map[string]bool{}
	for _, addr := range addrs {
		blocked[addr] = true
	}
	t.blocked.Store(blocked)
}

func (t *countingTransport) isBlocked(addr string) bool {
	return t.blocked.Load().(map[string]bool)[addr]
}

func (t *countingTransport) receive() {
	for {
		select {
		case packet := <-t.NetTransport.PacketCh():
			atomic.AddInt64(&t.packetsIn, 1)
			atomic.AddInt64(&t.packetBytesIn, int64(len(packet.Buf)))
			select {
			case t.packets <- packet:
			case <-t.stop:
				return
			}
		case <-t.stop:
			return
		}
	}
}

func (t *countingTransport) PacketCh() <-chan *memberlist.Packet { return t.packets }

func (t *countingTransport) WriteTo(b []byte, addr string) (time.Time, error) {
	atomic.AddInt64(&t.packetsOut, 1)
	atomic.AddInt64(&t.packetBytesOut, int64(len(b)))
	if t.isBlocked(addr) || rand.Float64() < math.Float64frombits(atomic.LoadUint64(&t.lossBits)) {
		return time.Now(), nil
	}
	return t.NetTransport.WriteTo(b, addr)
}

func (t *countingTransport) WriteToAddress(b []byte, addr memberlist.Address) (time.Time, error) {
	return t.WriteTo(b, addr.Addr)
}

func (t *countingTransport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	atomic.AddInt64(&t.dials, 1)
	if t.isBlocked(addr) {
		// As a network that drops packets: nobody says no.
		select {
		case <-time.After(timeout):
		case <-t.stop:
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: blockedError{}}
	}
	conn, err := t.NetTransport.DialTimeout(addr, timeout)
	if err != nil {
		return nil, err
	}
	return &countingConn{conn, &t.streamBytes}, nil
}

func (t *countingTransport) DialAddressTimeout(addr memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(addr.Addr, timeout)
}

func (t *countingTransport) Shutdown() error {
	close(t.stop)
	return t.NetTransport.Shutdown()
}

func (t *countingTransport) stats() map[string]any {
	return map[string]any{
		"udpPacketsOut": atomic.LoadInt64(&t.packetsOut),
		"udpBytesOut":   atomic.LoadInt64(&t.packetBytesOut),
		"udpPacketsIn":  atomic.LoadInt64(&t.packetsIn),
		"udpBytesIn":    atomic.LoadInt64(&t.packetBytesIn),
		"tcpDials":      atomic.LoadInt64(&t.dials),
		"tcpBytes":      atomic.LoadInt64(&t.streamBytes),
	}
}

type blockedError struct{}

func (blockedError) Error() string   { return "i/o timeout" }
func (blockedError) Timeout() bool   { return true }
func (blockedError) Temporary() bool { return true }

type countingConn struct {
	net.Conn
	bytes *int64
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	atomic.AddInt64(c.bytes, int64(n))
	return n, err
}

func (c *countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	atomic.AddInt64(c.bytes, int64(n))
	return n, err
}
