package protocol

import (
	"fmt"
	"strings"
)

// String prints the effects, one a line, in the order in which they are carried out.
func (e *CoordinatorEffects) String() string {
	var b strings.Builder
	lines(&b, e.Write)
	lines(&b, e.Read)
	lines(&b, e.Lease)
	lines(&b, e.Send)
	lines(&b, e.Forward)
	lines(&b, e.Consult)
	lines(&b, e.Notify)
	return b.String()
}

// String prints the effects, one a line, in the order in which they are carried out.
func (e *RegionEffects) String() string {
	var b strings.Builder
	lines(&b, e.Do)
	lines(&b, e.Send)
	lines(&b, e.Notify)
	if len(e.AtRest) > 0 {
		fmt.Fprintf(&b, "at-rest%s\n", ListText(e.AtRest))
	}
	if e.Left {
		b.WriteString("left\n")
	}
	return b.String()
}

// String prints the effects, one a line, in the order in which they are carried out.
func (e *ShardEffects) String() string {
	var b strings.Builder
	lines(&b, e.Write)
	lines(&b, e.Read)
	lines(&b, e.Lease)
	lines(&b, e.Do)
	for _, r := range e.Reply {
		fmt.Fprintf(&b, "reply #%d\n", r)
	}
	for _, in := range e.Region {
		fmt.Fprintf(&b, "region %v\n", in)
	}
	lines(&b, e.Notify)
	return b.String()
}

func lines[T any](b *strings.Builder, xs []T) {
	for _, x := range xs {
		fmt.Fprintf(b, "%v\n", x)
	}
}

func (a SetRoute) String() string { return fmt.Sprintf("route %v %v", a.Shard, a.Route) }

func (a FlushBuffer) String() string { return fmt.Sprintf("flush %v", a.Shard) }

func (a DropBuffer) String() string { return fmt.Sprintf("drop %v: %v", a.Shard, a.Reason) }

func (a SendFence) String() string { return fmt.Sprintf("fence →%v %v %v", a.To, a.Shard, a.HandOff) }

func (a StartShard) String() string {
	s := fmt.Sprintf("start-shard %v@%v", a.Shard, a.Token)
	if a.Wait > 0 {
		s += fmt.Sprintf(" in %v", a.Wait)
	}
	return s
}

func (a DrainShard) String() string { return fmt.Sprintf("drain-shard %v %v", a.Shard, a.HandOff) }

func (a StopShard) String() string {
	if a.Force {
		return fmt.Sprintf("stop-shard %v %v force", a.Shard, a.HandOff)
	}
	return fmt.Sprintf("stop-shard %v %v", a.Shard, a.HandOff)
}

func (a ResumeShard) String() string { return fmt.Sprintf("resume-shard %v", a.Shard) }

func (a CloseShard) String() string { return fmt.Sprintf("close-shard %v", a.Shard) }

func (a KillShard) String() string { return fmt.Sprintf("kill-shard %v: %v", a.Shard, a.Reason) }

func (a StartEntities) String() string {
	text := "start" + ListText(a.IDs)
	if a.Remembered > 0 {
		text += fmt.Sprintf(" remembered=%d", a.Remembered)
	}
	if a.Follow > 0 {
		text += fmt.Sprintf(" follow=%d", a.Follow)
	}
	return text
}

func (a StopEntity) String() string { return fmt.Sprintf("stop %v %v", a.ID, a.Cause) }

func (a ForceStop) String() string { return fmt.Sprintf("force-stop %v", a.ID) }

func (a DrainMailboxes) String() string { return fmt.Sprintf("drain-mailboxes %v", a.HandOff) }

func (a StopEntities) String() string { return fmt.Sprintf("stop-entities %v", a.HandOff) }

func (a ForceStopEntities) String() string { return fmt.Sprintf("force-stop-entities %v", a.HandOff) }

func (a ForwardStart) String() string { return "forward-start" + ListText(a.IDs) }

func (in Open) String() string {
	if in.Wait > 0 {
		return fmt.Sprintf("Open{Wait:%v}", in.Wait)
	}
	return "Open{}"
}

func (in ShardUnable) String() string { return fmt.Sprintf("shard-unable %v", in.Shard) }
func (in ShardLeased) String() string { return fmt.Sprintf("shard-leased %v", in.Shard) }
func (in ShardWaits) String() string  { return fmt.Sprintf("shard-waits %v", in.Shard) }

func (in ShardLost) String() string { return fmt.Sprintf("shard-lost %v", in.Shard) }

func (in ShardStarted) String() string { return fmt.Sprintf("shard-started %v", in.Shard) }

func (in ShardDrained) String() string {
	return fmt.Sprintf("shard-drained %v %v", in.Shard, in.HandOff)
}

func (in ShardStopped) String() string {
	return fmt.Sprintf("shard-stopped %v %v", in.Shard, in.HandOff)
}
