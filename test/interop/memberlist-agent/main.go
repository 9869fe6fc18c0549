// Any number of memberlist members in one process, driven by JSON lines on stdin. Replies and events are JSON lines on
// stdout. It ends when stdin closes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// A request; which fields matter depends on the operation.
type request struct {
	ID   int64  `json:"id"`
	Op   string `json:"op"`
	Name string `json:"name"`

	createOptions

	Addrs     []string `json:"addrs"`
	Addr      string   `json:"addr"`
	Payload   string   `json:"payload"`
	Reliable  bool     `json:"reliable"`
	TimeoutMs float64  `json:"timeoutMs"`
	Key       string   `json:"key"`
}

type agent struct {
	out     chan any
	mutex   sync.Mutex
	members map[string]*member
}

func main() {
	a := &agent{out: make(chan any, 1<<16), members: map[string]*member{}}
	go write(a.out)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<16), 1<<26)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			a.out <- map[string]any{"id": r.ID, "error": err.Error()}
			continue
		}
		// Some operations take seconds; the caller waits for the reply of what others depend on.
		go a.serve(r)
	}
}

func write(out <-chan any) {
	buffered := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(buffered)
	for message := range out {
		if encoder.Encode(message) != nil {
			os.Exit(1)
		}
		if len(out) == 0 && buffered.Flush() != nil {
			os.Exit(1)
		}
	}
}

func (a *agent) serve(r request) {
	result, err := a.perform(r)
	if err != nil {
		a.out <- map[string]any{"id": r.ID, "error": err.Error()}
		return
	}
	if result == nil {
		result = map[string]any{}
	}
	a.out <- map[string]any{"id": r.ID, "ok": result}
}

func (a *agent) perform(r request) (any, error) {
	switch r.Op {
	case "version":
		return map[string]any{"version": memberlistVersion(), "labels": hasLabels}, nil
	case "cpu":
		return cpu()
	case "create":
		return a.create(r)
	}
	m, err := a.member(r.Name)
	if err != nil {
		return nil, err
	}
	if r.Op == "shutdown" {
		a.forget(r.Name)
	}
	return m.perform(r)
}

func (a *agent) create(r request) (any, error) {
	a.mutex.Lock()
	_, taken := a.members[r.Name]
	a.mutex.Unlock()
	if taken {
		return nil, fmt.Errorf("%q runs already", r.Name)
	}
	m, err := newMember(r.Name, r.createOptions, a.emit)
	if err != nil {
		return nil, err
	}
	a.mutex.Lock()
	a.members[r.Name] = m
	a.mutex.Unlock()
	return map[string]any{"port": m.port}, nil
}

func (a *agent) member(name string) (*member, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if m, ok := a.members[name]; ok {
		return m, nil
	}
	return nil, fmt.Errorf("%q does not run", name)
}

func (a *agent) forget(name string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.members, name)
}

func (a *agent) emit(event map[string]any) {
	event["atMs"] = float64(time.Now().UnixNano()) / 1e6
	a.out <- event
}

func cpu() (any, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return nil, err
	}
	toMs := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e6 }
	return map[string]any{"userMs": toMs(usage.Utime), "systemMs": toMs(usage.Stime)}, nil
}
