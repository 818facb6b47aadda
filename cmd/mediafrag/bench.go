package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mediafrag/mediafrag/seek"
)

func (a *app) benchCommand() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:   "bench 'URI'",
		Short: "Resolve and read it several times, and show what that costs",
		Long: `Resolves and reads what the URI names --count times, each time over connections
of its own, and shows what it costs: requests, connections, dependent round trips
(the longest chain of requests of which each began after the one before had
answered), bytes received against the bytes needed, and the time to the first
media byte. Nothing is written.`,
		Example: `  mediafrag bench 'https://host/movie.mp4#t=60,100'
  mediafrag bench --json --count 20 'https://host/movie.mp4#t=60,100'`,
		Args: oneURI,
		RunE: func(cmd *cobra.Command, args []string) error {
			if count < 1 {
				return usagef("--count is at least 1, not %d", count)
			}
			t, err := a.target(args[0])
			if err != nil {
				return err
			}
			a.warn(texts(t.fragment.Warnings))
			runs := make([]cost, count)
			for i := range runs {
				if runs[i], err = a.measure(cmd.Context(), t); err != nil {
					return err
				}
			}
			if a.flags.json {
				return a.printJSON(newBenchJSON(t.uri, runs))
			}
			return a.printBench(runs)
		},
	}
	cmd.Flags().IntVar(&count, "count", 5, "how many times")
	return cmd
}

// cost is what one run took.
type cost struct {
	seek.Transfer
	needed int64
}

func (c cost) json() transferJSON { return newTransferJSON(c.Transfer, c.needed) }

// measure resolves and reads a target once.
func (a *app) measure(ctx context.Context, t *target) (cost, error) {
	j, err := a.open(ctx, t)
	if err != nil {
		return cost{}, err
	}
	defer j.Close()
	clip, err := a.resolve(ctx, j)
	if err != nil {
		return cost{}, err
	}
	defer clip.Close()
	out := &countedStream{Writer: io.Discard, delivery: j.delivery(clip.Plan, nil)}
	if _, err := clip.WriteTo(out); err != nil {
		return cost{}, t.about(err)
	}
	return cost{j.totals.Transfer(), clip.Plan.Needed}, nil
}

// median returns the median of each number on its own; of an even count the
// lower of the two in the middle.
func median(runs []cost) cost {
	return cost{
		Transfer: seek.Transfer{
			Requests:        middle(runs, func(c cost) int { return c.Requests }),
			Connections:     middle(runs, func(c cost) int { return c.Connections }),
			RoundTrips:      middle(runs, func(c cost) int { return c.RoundTrips }),
			Bytes:           middle(runs, func(c cost) int64 { return c.Bytes }),
			Duration:        middle(runs, func(c cost) time.Duration { return c.Duration }),
			FirstMediaTrips: middle(runs, func(c cost) int { return c.FirstMediaTrips }),
			FirstMedia:      middle(runs, func(c cost) time.Duration { return c.FirstMedia }),
		},
		needed: middle(runs, func(c cost) int64 { return c.needed }),
	}
}

func middle[T cmp.Ordered](runs []cost, of func(cost) T) T {
	values := make([]T, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// benchJSON is what `bench --json` prints.
type benchJSON struct {
	URI    string       `json:"uri"`
	Runs   []runJSON    `json:"runs"`
	Median transferJSON `json:"median"`
}

type runJSON struct {
	Transfer transferJSON `json:"transfer"`
}

func newBenchJSON(uri string, runs []cost) benchJSON {
	out := benchJSON{URI: uri, Runs: []runJSON{}, Median: median(runs).json()}
	for _, r := range runs {
		out.Runs = append(out.Runs, runJSON{r.json()})
	}
	return out
}

// printBench writes it for people.
func (a *app) printBench(runs []cost) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "run\trequests\tconnections\tround trips\tto first media byte\tbytes\tneeded\tbytes/needed\tseconds\tfirst media byte\t")
	for i, r := range runs {
		printCost(w, fmt.Sprint(i+1), r)
	}
	printCost(w, "median", median(runs))
	return w.Flush()
}

func printCost(w io.Writer, name string, c cost) {
	ratio := "?"
	if c.needed > 0 {
		ratio = fmt.Sprintf("%.2f", float64(c.Bytes)/float64(c.needed))
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%.3f\t%.3f\t\n", name, c.Requests, c.Connections, c.RoundTrips,
		c.FirstMediaTrips, c.Bytes, c.needed, ratio, c.Duration.Seconds(), c.FirstMedia.Seconds())
}
