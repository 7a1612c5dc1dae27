package protocol

import (
	"fmt"
	"strings"
)

const (
	kindRegister kind = iota + 1
	kindGetHomes
	kindStarted
	kindBeginAck
	kindShardsStopped
	kindReport
	kindLeaveRequest
	kindRegistered
	kindHomes
	kindHostShards
	kindBegin
	kindFence
	kindInquire
	kindLeaveReply
	kindLoads
	kindRefused
	kindStopShards
	kindAtRest
	kindEnded
	kindUnable
	kindAbsent
	kindAbsentReport
	kindConfirm
	kindCompare
	kindCompared
	kindStateFailing
	kindEnd
)

func (Register) message() kind      { return kindRegister }
func (GetHomes) message() kind      { return kindGetHomes }
func (Started) message() kind       { return kindStarted }
func (BeginAck) message() kind      { return kindBeginAck }
func (ShardsStopped) message() kind { return kindShardsStopped }
func (Refused) message() kind       { return kindRefused }
func (Report) message() kind        { return kindReport }
func (LeaveRequest) message() kind  { return kindLeaveRequest }
func (Registered) message() kind    { return kindRegistered }
func (Homes) message() kind         { return kindHomes }
func (HostShards) message() kind    { return kindHostShards }
func (Begin) message() kind         { return kindBegin }
func (Fence) message() kind         { return kindFence }
func (Inquire) message() kind       { return kindInquire }
func (LeaveReply) message() kind    { return kindLeaveReply }
func (Loads) message() kind         { return kindLoads }
func (StopShards) message() kind    { return kindStopShards }
func (AtRest) message() kind        { return kindAtRest }
func (Ended) message() kind         { return kindEnded }
func (Unable) message() kind        { return kindUnable }
func (Absent) message() kind        { return kindAbsent }
func (AbsentReport) message() kind  { return kindAbsentReport }
func (Confirm) message() kind       { return kindConfirm }
func (Compare) message() kind       { return kindCompare }
func (Compared) message() kind      { return kindCompared }
func (StateFailing) message() kind  { return kindStateFailing }

// ToCoordinator implements Message.
func (Register) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (g GetHomes) ToCoordinator() bool { return !g.Region }

// ToCoordinator implements Message.
func (Started) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (BeginAck) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (ShardsStopped) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (Report) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (AbsentReport) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (Confirm) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (Compared) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (Compare) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Loads) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (LeaveRequest) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (StopShards) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (AtRest) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Ended) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Unable) ToCoordinator() bool { return true }

// ToCoordinator implements Message.
func (Refused) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (StateFailing) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Registered) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Homes) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (HostShards) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Begin) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Fence) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Inquire) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (Absent) ToCoordinator() bool { return false }

// ToCoordinator implements Message.
func (LeaveReply) ToCoordinator() bool { return false }

func (m Register) String() string {
	s := "register"
	if m.Proxy {
		s += " proxy"
	}
	if m.Leaving {
		s += " leaving"
	}
	if m.Joined {
		s += " joined"
	}
	return s + lifeText(m.Life)
}

func (m GetHomes) String() string {
	if m.Region {
		return "ask-region" + ListText(m.Shards)
	}
	return "get-homes" + ListText(m.Shards)
}

func (m Started) String() string       { return "started" + ListText(m.Shards) }
func (m BeginAck) String() string      { return "begin-ack" + ListText(m.Shards) }
func (m ShardsStopped) String() string { return "stopped" + ListText(m.Shards) }
func (m StopShards) String() string    { return "stop-shards" + ListText(m.Shards) }
func (m AtRest) String() string        { return "at-rest" + ListText(m.Shards) }
func (m Ended) String() string         { return "ended" + ListText(m.Shards) }
func (m Unable) String() string        { return "unable" + ListText(m.Shards) }
func (m HostShards) String() string    { return "host" + ListText(m.Shards) }
func (m Fence) String() string         { return fmt.Sprintf("fence %v %v", m.Shard, m.HandOff) }
func (m AbsentReport) String() string  { return fmt.Sprintf("absent-report %v", m.Floor) }
func (Absent) String() string          { return "absent" }
func (m Confirm) String() string       { return "confirm" + lifeText(m.Life) }
func (Compare) String() string         { return "compare" }
func (m Inquire) String() string       { return fmt.Sprintf("inquire %v", m.Floor) }

func (m Homes) String() string {
	if m.Sure {
		return "homes" + ListText(m.Entries)
	}
	return "homes?" + ListText(m.Entries)
}

func (m Loads) String() string { return fmt.Sprintf("loads %v%s", m.Period, ListText(m.Shards)) }

// String prints shard:messages/handler time/entities.
func (l ShardLoad) String() string {
	return fmt.Sprintf("%v:%d/%v/%d", l.Shard, l.Messages, l.HandlerTime, l.Entities)
}

func (m LeaveRequest) String() string {
	s := "leave-request"
	if m.Left {
		s += " left"
	}
	if m.Closing {
		s += " closing"
	}
	return s + lifeText(m.Life)
}

func lifeText(life uint32) string {
	if life == 0 {
		return ""
	}
	return fmt.Sprintf(" life=%d", life)
}

func (m Compared) String() string {
	if !m.Runs {
		return "compared absent"
	}
	s := fmt.Sprintf("compared role=%q coordinator=%v", m.Role, m.Coordinator)
	if m.Joined {
		s += " joined"
	}
	return s
}

func (m Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "report %v %d/%d", m.Floor, m.Part+1, m.Parts)
	if m.Proxy {
		b.WriteString(" proxy")
	}
	if m.Leaving {
		b.WriteString(" leaving")
	}
	if m.Left {
		b.WriteString(" left")
	}
	b.WriteString(lifeText(m.Life))
	b.WriteString(ListText(m.Shards))
	return b.String()
}

func (m Refused) String() string { return fmt.Sprintf("refused %v", m.Compatibility) }

func (m StateFailing) String() string { return fmt.Sprintf("state-failing %q", m.Why) }

func (m Registered) String() string {
	return fmt.Sprintf("registered %v since %v%s%s", m.Floor, m.Since, lifeText(m.Life), ListText(m.Moves))
}

func (m Begin) String() string { return "begin" + ListText(m.Moves) + among(m.Regions) }

func (m LeaveReply) String() string {
	s := "leave-reply"
	if m.Done {
		s += " done"
	}
	if m.Alone {
		s += " alone"
	}
	return s + lifeText(m.Life)
}

// String prints shard@token.
func (s ShardToken) String() string { return fmt.Sprintf("%v@%v", s.Shard, s.Token) }

// String prints shard@hand-off and the owner.
func (m Move) String() string { return fmt.Sprintf("%v@%v:%v", m.Shard, m.HandOff, m.Owner) }

var phaseNames = [...]string{"none", "starting", "running", "fencing", "draining", "stopping", "stopped"}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

func (h Hosted) String() string {
	return fmt.Sprintf("%v:%v@%v/%v", h.Shard, h.Phase, h.Token, h.Barrier)
}

func (e Envelope) String() string { return fmt.Sprintf("→%v %v", e.To, e.Msg) }

// ListText prints elements in their order, long lists by their beginning and length.
func ListText[T fmt.Stringer](xs []T) string {
	const shown = 8
	var b strings.Builder
	for i, x := range xs {
		if i == shown && len(xs) > shown+1 {
			fmt.Fprintf(&b, " …(%d)", len(xs))
			break
		}
		b.WriteByte(' ')
		b.WriteString(x.String())
	}
	return b.String()
}

// signed prints elements with a sign before each.
func signed[T fmt.Stringer](sign string, xs []T) string {
	return strings.ReplaceAll(ListText(xs), " ", " "+sign)
}

func among(us []UID) string {
	if len(us) == 0 {
		return ""
	}
	return " among" + ListText(us)
}
