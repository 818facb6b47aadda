package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mediafrag/mediafrag/client"
	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/seek"
)

func (a *app) planCommand() *cobra.Command {
	var full bool
	var as string
	cmd := &cobra.Command{
		Use:   "plan 'URI'",
		Short: "Resolve only, and show what would be fetched",
		Long: `Finds the bytes of what the URI names and shows what would be fetched: the
interval asked for, presented and covered, the tracks, each part of the clip with
its byte range and the reason for it, and the totals. No media is fetched beyond
what finding it needs.`,
		Example: `  mediafrag plan 'https://host/movie.mp4#t=60,100'
  mediafrag plan --json --full 'https://host/movie.mp4#t=60,100'`,
		Args: oneURI,
		RunE: func(cmd *cobra.Command, args []string) error {
			if full && !a.flags.json {
				return usagef("--full is for --json: it adds the literal bytes in base64")
			}
			switch {
			case as == "":
			case as != "hls":
				return usagef("--as is hls, not %q", as)
			case a.flags.json:
				return usagef("--as hls and --json both want standard output; leave one of them out")
			default: // whole fragments, as they lie at the origin
				a.flags.form = string(formats.Verbatim)
			}
			t, err := a.target(args[0])
			if err != nil {
				return err
			}
			j, err := a.open(cmd.Context(), t)
			if err != nil {
				return err
			}
			defer j.Close()
			clip, err := a.resolve(cmd.Context(), j)
			if err != nil {
				return err
			}
			defer clip.Close()
			a.warn(j.warnings)
			if as == "hls" {
				text, err := client.HLS(clip.Plan)
				if err == nil {
					_, err = io.WriteString(a.stdout, text)
				}
				return t.about(err)
			}
			if a.flags.json {
				return a.printJSON(j.clipJSON(clip.Plan, full, nil, clip.Plan.Size))
			}
			return a.printPlan(j, clip.Plan)
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "with --json: literal bytes in base64, so that the plan can be read elsewhere")
	cmd.Flags().StringVar(&as, "as", "", "print the plan of a fragmented MP4 as a playlist of byte ranges at the origin: `hls`")
	return cmd
}

// printPlan writes a plan for people.
func (a *app) printPlan(j *job, p *formats.Plan) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	info := j.resource.Info()
	fmt.Fprintf(w, "uri\t%s\n", oneLine(j.uri))
	fmt.Fprintf(w, "format\t%s, %s\n", info.Format, p.MediaType)
	fmt.Fprintf(w, "requested\t%s\n", interval(closed(p.Requested, info)))
	fmt.Fprintf(w, "presented\t%s\n", interval(closed(p.Presented, info)))
	fmt.Fprintf(w, "covered\t%s\n", interval(closed(p.Covered, info)))
	for _, t := range p.Tracks {
		fmt.Fprintf(w, "track\t%s\n", trackText(t))
	}
	t := j.totals.Transfer()
	fmt.Fprintf(w, "clip\t%s\n", bytesText(p.Size))
	fmt.Fprintf(w, "of it\t%s\n", fromMedium(p.Parts))
	fmt.Fprintf(w, "so far\t%d requests, %d round trips, %s\n", t.Requests, t.RoundTrips, bytesText(t.Bytes))
	if err := w.Flush(); err != nil {
		return err
	}
	return printParts(a.stdout, p.Parts)
}

// printParts writes a table of a clip's parts.
func printParts(out io.Writer, parts []seek.Part) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\npart\tbytes\tfrom\twhy\trewrite")
	for i, p := range parts {
		why, rewrite := p.Note, ""
		if why == "" {
			why = string(p.Purpose)
		}
		if p.Rewrite != nil {
			rewrite = p.Rewrite.Name()
		}
		from := "literal"
		if p.Resource != nil {
			from = p.Range.String()
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", i+1, countText(p.Size), from, why, rewrite)
	}
	return w.Flush()
}

// fromMedium says how much of a clip comes from the medium as it stands.
func fromMedium(parts []seek.Part) string {
	ranges, bytes := 0, int64(0)
	for _, p := range parts {
		if p.Resource == nil {
			continue
		}
		ranges++
		if p.Length < 0 {
			bytes = -1
		} else if bytes >= 0 {
			bytes += p.Length
		}
	}
	return fmt.Sprintf("%s in %d parts from the medium", bytesText(bytes), ranges)
}
