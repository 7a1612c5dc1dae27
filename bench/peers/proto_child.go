package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/coterie-go/coterie/bench/measure"
	"github.com/coterie-go/coterie/proptest/ports"
)

const (
	payload  = 100 // bytes of a message, as in Coterie's benches
	askLimit = time.Second
	asked    = 64 // entities that are told and asked
	// A sender that never waits would measure how long a queue can get, and in peers with bounds what they drop.
	tellBatch, tellBatches = 512, 64
)

// protoChild is main of a process of protoactor-go.
func protoChild(words []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), childLife)
	defer cancel()
	switch {
	case words[0] == "node" && len(words) > 4:
		return protoNodeChild(ctx, words[1] == "host", words[2], words[4:])
	case words[0] == "entities" && len(words) == 2:
		n, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		return protoMemory(ctx, n)
	}
	return fmt.Errorf("unknown words %q", words)
}

// protoNodeChild is a node that does what the lines of its standard input say.
func protoNodeChild(ctx context.Context, host bool, addr string, seeds []string) error {
	g := newProtoGate(addr)
	n, err := startProto(ctx, host, addr, seeds, g.props())
	if err != nil {
		return err
	}
	fmt.Println("up")
	l := &protoLoad{protoNode: n}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		numbers := words[1:]
		if words[0] == "load" { // the last one is an address
			numbers = numbers[:1]
		}
		times, err := millis(numbers)
		switch {
		case err != nil:
		case words[0] == "load" && len(words) == 3:
			err = l.begin(ctx, times[0], words[2])
		case words[0] == "tell" && len(times) == 2:
			err = n.tell(ctx, times[0], times[1])
		case words[0] == "ask" && len(times) == 3:
			err = n.ask(ctx, int(times[0].Milliseconds()), times[1], times[2])
		case words[0] == "killed" && len(times) == 1:
			err = l.back(ctx, time.UnixMilli(times[0].Milliseconds()))
		case words[0] == "mark":
			err = n.mark(ctx)
		case words[0] == "freeze" && len(times) == 1:
			err = g.freeze(ctx, n, times[0])
		default:
			err = fmt.Errorf("unknown words %q", words)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// millis reads numbers. They are milliseconds, and the first one of ask is how many callers there are.
func millis(words []string) (all []time.Duration, err error) {
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, time.Duration(n)*time.Millisecond)
	}
	return all, nil
}

// pids has entities started, and returns where they are.
func (n *protoNode) pids() (all []*actor.PID, err error) {
	for i := range asked {
		pid := n.Get("entity-"+strconv.Itoa(i), protoKind)
		if pid == nil {
			return nil, fmt.Errorf("entity-%d is nowhere", i)
		}
		all = append(all, pid)
	}
	return all, nil
}

// tell tells entities by the addresses that the cluster has given: it has no tell by id.
func (n *protoNode) tell(ctx context.Context, d, warm time.Duration) error {
	pids, err := n.pids()
	if err != nil {
		return err
	}
	for _, part := range []time.Duration{warm, d} {
		before, err := n.counted(pids)
		if err != nil {
			return err
		}
		sent, start := uint64(0), time.Now()
		var under []*actor.Future
		for time.Since(start) < part && ctx.Err() == nil {
			for range tellBatch {
				n.ActorSystem.Root.Send(pids[sent%asked], wrapperspb.Bytes(make([]byte, payload)))
				sent++
			}
			under = append(under, n.ActorSystem.Root.RequestFuture(pids[0], wrapperspb.String("count"), 10*askLimit))
			if len(under) < tellBatches {
				continue
			}
			if _, err := under[0].Result(); err != nil {
				return err
			}
			under = under[1:]
		}
		after, err := n.counted(pids)
		if err != nil {
			return err
		}
		if part == d {
			fmt.Printf("case=tell-1-sender ops_per_s=%d lost=%d\n",
				int(float64(after-before)/time.Since(start).Seconds()), sent-(after-before))
		}
	}
	fmt.Println("told")
	return nil
}

// counted is how many notes the entities got.
func (n *protoNode) counted(pids []*actor.PID) (sum uint64, err error) {
	for _, pid := range pids {
		got, err := n.ActorSystem.Root.RequestFuture(pid, wrapperspb.String("count"), 10*askLimit).Result()
		if err != nil {
			return 0, err
		}
		v, ok := got.(*wrapperspb.UInt64Value)
		if !ok {
			return 0, fmt.Errorf("a count is a %T", got)
		}
		sum += v.Value
	}
	return sum, nil
}

func (n *protoNode) ask(_ context.Context, callers int, d, warm time.Duration) error {
	op := func(c, i int) error {
		_, err := n.request("entity-"+strconv.Itoa((c+i)%asked), wrapperspb.UInt64(uint64(i)), 10*askLimit)
		return err
	}
	if _, err := measure.Callers(callers, warm, op); err != nil {
		return err
	}
	l, err := measure.Callers(callers, d, op)
	if err != nil {
		return err
	}
	fmt.Printf("case=ask-%d-callers %s\nasked\n", callers, strings.Join(l.Figures(), " "))
	return nil
}

// protoMemory measures what an idle entity takes.
func protoMemory(ctx context.Context, entities int) error {
	addrs, err := ports.Free(1)
	if err != nil {
		return err
	}
	g := newProtoGate(addrs[0])
	n, err := startProto(ctx, true, addrs[0], addrs, g.props())
	if err != nil {
		return err
	}
	ids := make([]string, entities+1)
	for i := range ids {
		ids[i] = "entity-" + strconv.Itoa(1_000_000_000+i)
	}
	if _, err := n.request(ids[entities], wrapperspb.UInt64(1), 10*askLimit); err != nil {
		return err
	}
	before := memoryInUse()
	for i := range entities {
		if _, err := n.request(ids[i], wrapperspb.UInt64(1), 10*askLimit); err != nil {
			return err
		}
	}
	fmt.Printf("case=entities bytes_per_idle_entity=%.0f\ndone\n", float64(memoryInUse()-before)/float64(entities))
	runtime.KeepAlive(n)
	runtime.KeepAlive(ids)
	return nil
}

// memoryInUse is what lives after collecting garbage: on the heap, and stacks.
func memoryInUse() int64 {
	heap := measure.HeapBytes()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap + int64(m.StackInuse)
}
