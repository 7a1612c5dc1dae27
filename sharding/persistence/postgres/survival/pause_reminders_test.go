package survival

import (
	"fmt"
	"testing"
	"time"
)

// A paused owner cannot take back what its successor has set: the removal of a reminder that it has sent before,
// and that arrives when the successor has set the reminder anew, has no effect. Without the checks of the token
// and of the number it has one, which shows that it does arrive.
func TestPausedOwnerOfReminders(t *testing.T) {
	c, at := startWired(t)
	t.Run("sound", func(t *testing.T) {
		id := c.pauseWithRemoval(t, at, 0, 1)
		c.arm(id, time.Now())
		c.rings(id)
	})
	c.exec(c.withoutToken() + ";" +
		c.changed("remind", "(d.hosting, d.number) <= (EXCLUDED.hosting, EXCLUDED.number)", "true"))
	t.Run("without the checks", func(t *testing.T) { c.pauseWithRemoval(t, at, 1, 0) })
}

// pauseWithRemoval pauses the owner of an alarm with the removal of its reminder on the way, and has the successor
// set that anew. left is how many reminders of the alarm are to be stored in the end.
func (c *cluster) pauseWithRemoval(t *testing.T, at []*wires, turn, left int) (id string) {
	id, paused := c.alarmElsewhere(turn)
	w := at[paused]
	w.hold(id)
	owner, answer := c.process(paused), make(chan error, 1)
	go func() { answer <- owner.Call(c.patient(), "disarm", alarmCall{ID: id}, nil) }()
	if err := w.heldAll(c.patient()); err != nil {
		t.Fatal("the removal is not on the way:", err)
	}
	c.silence(paused)
	c.say("node %d is paused with the removal on the way", paused)
	c.arm(id, time.Now().Add(time.Hour))
	c.say("its successor has set the reminder anew")
	w.release()
	if err := w.answered(c.patient()); err != nil {
		t.Fatal("the server does not answer what was held:", err)
	}
	if n := c.count("SELECT count(*) FROM survival.reminders WHERE entity = '" + id + "'"); n != left {
		t.Errorf("%d reminders are stored after the removal by the paused owner has arrived, want %d", n, left)
	}
	c.speak()
	if err := <-answer; err == nil {
		t.Error("the paused owner has answered")
	}
	c.settle()
	return id
}

// alarmElsewhere arms alarms until one is on a node that has not the coordinator, and returns both.
func (c *cluster) alarmElsewhere(turn int) (id string, host int) {
	c.t.Helper()
	coordinator := c.coordinator()
	for i := range 20 * shards {
		id = fmt.Sprint("alarm-", turn*1000+i)
		c.arm(id, time.Now().Add(time.Hour))
		if host = c.owner(alarmType, id); host != coordinator {
			return id, host
		}
	}
	c.t.Fatal("one node hosts all alarms")
	return "", 0
}
