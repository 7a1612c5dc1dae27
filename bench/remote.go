package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/bench/child"
	"github.com/coterie-go/coterie/bench/large"
	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/bench/tails"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/proptest/ports"
	"github.com/coterie-go/coterie/sharding"
)

// runRemote measures entity messages between two processes: this one has no role of the type, so
// every entity is remote.
func runRemote(ctx context.Context, o options) error {
	d := o.d
	region, far, stop, err := farEntities(ctx)
	if err != nil {
		return err
	}
	defer stop()
	raw, err := child.Start(ctx, "raw")
	if err != nil {
		return err
	}
	defer raw.End()
	rawAddr, err := raw.Answer()
	if err != nil {
		return err
	}
	ids := make([]string, 64)
	for i := range ids {
		ids[i] = "entity-" + strconv.Itoa(i)
		if _, err := sharding.Ask(ctx, region.Ref(ids[i]), Query{}); err != nil {
			return err
		}
	}
	tell := remoteTell{region: region, ids: ids, far: far, raw: raw, rawAddr: rawAddr}
	if err := tell.run(ctx, d, "tell-1-sender", func(uint64) Message { return note() }); err != nil {
		return err
	}
	if err := tell.run(ctx, d, "tell-3-types", typesInTurn); err != nil {
		return err
	}
	for _, callersN := range []int{1, 64} {
		limit, err := pingPongTo(rawAddr, callersN, d/2)
		if err != nil {
			return err
		}
		l, err := measure.Callers(callersN, d, func(c, i int) error {
			_, err := sharding.Ask(ctx, region.Ref(ids[(c+i)%len(ids)]), Query{N: uint64(i)})
			return err
		})
		if err != nil {
			return err
		}
		f := l.Figures()
		f.Add("limit_ops_per_s", int(limit.PerSecond()))
		f.Add("ratio", l.PerSecond()/limit.PerSecond())
		measure.Report("remote", "ask-"+strconv.Itoa(callersN)+"-callers", f)
	}
	return nil
}

// farEntities starts a second process that hosts the entities, and the region of this one, which
// hosts none. stop ends both.
func farEntities(ctx context.Context) (region *sharding.Region[Message], peer *child.Process, stop func(), err error) {
	addrs, err := ports.Free(2)
	if err != nil {
		return nil, nil, nil, err
	}
	here, there := addrs[0], addrs[1]
	peer, err = child.Start(ctx, "node", there, here)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			peer.End()
		}
	}()
	if _, err := peer.Answer(); err != nil { // it is starting
		return nil, nil, nil, err
	}
	n, err := startRemote(ctx, here, there, "driver")
	if err != nil {
		return nil, nil, nil, err
	}
	stop = func() {
		_ = n.Close()
		peer.End()
	}
	if region, err = startEntities(n); err != nil {
		_ = n.Close()
	}
	return region, peer, stop, err
}

// remoteTell is one sender's messages to entities of another process, beside frames to a raw peer.
type remoteTell struct {
	region   *sharding.Region[Message]
	ids      []string
	far, raw *child.Process
	rawAddr  string
}

// typesInTurn makes messages of three types in turn.
func typesInTurn(i uint64) Message {
	switch i % 3 {
	case 0:
		return Tagged{"a tag", body[:len(body)/2]}
	case 1:
		return Priced{Price: int64(i)}
	}
	return note()
}

// run counts what the entities got: the time runs until the last message was handled.
func (r *remoteTell) run(ctx context.Context, d time.Duration, name string, next func(i uint64) Message) error {
	before, err := counted(ctx, r.region, r.ids)
	if err != nil {
		return err
	}
	cpu, start := measure.CPUTime()+r.far.CPUTime(), time.Now()
	sent := uint64(0)
	for time.Since(start) < d {
		for range 256 {
			if err := r.region.Tell(ctx, r.ids[sent%uint64(len(r.ids))], next(sent)); err != nil {
				return err
			}
			sent++
		}
	}
	after, err := counted(ctx, r.region, r.ids) // an ask is behind all that was told to the same entity
	if err != nil {
		return err
	}
	l := measure.Load{
		Ops: int(after - before), Elapsed: time.Since(start), CPU: measure.CPUTime() + r.far.CPUTime() - cpu,
	}
	cpu = measure.CPUTime() + r.raw.CPUTime()
	limit, err := rawOneWay(r.rawAddr, d/2)
	if err != nil {
		return err
	}
	limit.CPU = measure.CPUTime() + r.raw.CPUTime() - cpu
	var f measure.Figures
	f.Add("ops_per_s", int(l.PerSecond()))
	f.Add("lost", sent-(after-before))
	f.Add("limit_ops_per_s", int(limit.PerSecond()))
	f.Add("ratio", l.PerSecond()/limit.PerSecond())
	measure.AddCPU(&f, l, limit) // of both processes
	measure.Report("remote", name, f)
	return nil
}

func counted(ctx context.Context, region *sharding.Region[Message], ids []string) (uint64, error) {
	sum := uint64(0)
	for _, id := range ids {
		n, err := sharding.Ask(ctx, region.Ref(id), Count{})
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// rawLine is a connection to a raw peer to which frames go one way.
type rawLine struct {
	*outbox
	conn net.Conn
}

func dialRawLine(addr string) (*rawLine, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte{'1'}); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &rawLine{newOutbox(conn), conn}, nil
}

// echoed sends a last frame and waits until it has come back, and so until all have come there.
func (w *rawLine) echoed() error {
	w.put([]byte{1})
	_, err := io.ReadFull(w.conn, make([]byte, 5))
	return err
}

func (w *rawLine) end() {
	w.close()
	_ = w.conn.Close()
}

// rawOneWay sends frames one way over one connection.
func rawOneWay(addr string, d time.Duration) (measure.Load, error) {
	w, err := dialRawLine(addr)
	if err != nil {
		return measure.Load{}, err
	}
	defer w.end()
	frame := make([]byte, payload)
	start := time.Now()
	n := 0
	for time.Since(start) < d {
		for range 256 {
			w.put(frame)
			n++
		}
	}
	err = w.echoed()
	return measure.Load{Ops: n, Elapsed: time.Since(start)}, err
}

func startRemote(ctx context.Context, bind, other, withRole string) (*ddata.Node, error) {
	return ddata.Start(ctx, ddata.Config{
		Name: "bench", Bind: bind, Seeds: []string{other}, BootstrapExpect: 2,
		Roles: []string{withRole}, Preset: ddata.Local,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// runChild is main of a second process; it ends when its standard input does.
func runChild(what string) error {
	if mine, err := durableChild(what); mine {
		return err
	}
	words := strings.Fields(what)
	switch {
	case words[0] == "detect" && len(words) > 3:
		return runDetectChild(context.Background(), words[1], words[2], words[3:])
	case words[0] == "stopall" && len(words) == 2+stopAllNodes:
		return stopAllChild(context.Background(), words[1:])
	case words[0] == "failover" && len(words) > 2:
		return failoverChild(context.Background(), words[1], words[2], words[3:])
	case words[0] == "rollout" && len(words) > 3:
		return rolloutChild(context.Background(), words[1], words[2], words[3:])
	case words[0] == "tails" && len(words) > 4:
		return tails.Guest(context.Background(), words[1], words[2], words[3], words[4:])
	case words[0] == "fill" && len(words) == 3:
		size, err := strconv.Atoi(words[2])
		if err != nil {
			return err
		}
		return large.Fill(words[1], size)
	case words[0] == "keeper" && len(words) > 3:
		return large.Keeper(context.Background(), words[1], words[2], words[3:])
	case words[0] == "raw":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		go serveRaw(l)
	case words[0] == "pause":
		self, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		return pauseChild(self, words[2:])
	case words[0] == "node" && len(words) == 3:
		fmt.Println("starting") // the other founder is not there before it reads this
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		n, err := startRemote(ctx, words[1], words[2], role)
		if err != nil {
			return err
		}
		defer n.Close()
		if _, err := startEntities(n); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown child %q", what)
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// serveRaw is the peer of the raw limits: a connection that begins with '1' is one way, every other
// is echoed.
func serveRaw(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			first := make([]byte, 1)
			if _, err := io.ReadFull(c, first); err != nil {
				return
			}
			if first[0] != '1' {
				echo(&prefixed{Conn: c, first: first})
				return
			}
			readFrames(c, func(b []byte) {
				if len(b) == 1 {
					_, _ = c.Write([]byte{0, 0, 0, 1, 1})
				}
			})
		}()
	}
}

// prefixed gives back the byte that was read to tell the kinds apart.
type prefixed struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
