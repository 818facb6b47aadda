package seek

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Damage is a place in a resource that does not hold what it should, met while
// the clip was read: planning looks at the two ends of an interval only.
type Damage struct {
	Name    string // of the resource
	Offset  int64  // in it
	Problem string // and what was made of it
}

// String states the offset and the problem.
func (d Damage) String() string { return fmt.Sprintf("at byte %d: %s", d.Offset, d.Problem) }

// maxDamage is how many places are remembered.
const maxDamage = 20

// damageLog gathers what Rewriters meet, each place once however often it is read.
type damageLog struct {
	mu  sync.Mutex
	all []Damage
}

func (l *damageLog) add(d Damage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) < maxDamage && !slices.Contains(l.all, d) {
		l.all = append(l.all, d)
	}
}

func (l *damageLog) list() []Damage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(slices.Values(l.all), func(a, b Damage) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Problem, b.Problem))
	})
}
