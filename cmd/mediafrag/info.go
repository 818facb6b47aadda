package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mediafrag/mediafrag/formats"
	"github.com/mediafrag/mediafrag/fragment"
)

func (a *app) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "info 'URI'",
		Short: "Show what a medium is: container, duration, tracks, chapters, index",
		Long: `Shows what is known of a medium: its container, duration, tracks, picture size,
chapters, tags, attached files, by what index it is sought, and what its own
clock says at its start.
A fragment of the URI is ignored.`,
		Example: `  mediafrag info 'https://host/movie.mp4'
  mediafrag info --json movie.mp4`,
		Args: oneURI,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.target(args[0])
			if err != nil {
				return err
			}
			j, err := a.open(cmd.Context(), t)
			if err != nil {
				return err
			}
			defer j.Close()
			info, err := j.resource.Inspect(cmd.Context())
			if err != nil {
				return t.about(err)
			}
			warnings := texts(info.Warnings)
			a.warn(warnings)
			if a.flags.json {
				return a.printJSON(newInfoJSON(t.uri, info, warnings))
			}
			return a.printInfo(t.uri, info)
		},
	}
}

// infoJSON is what `info --json` prints.
type infoJSON struct {
	URI       string          `json:"uri"`
	Format    string          `json:"format"`
	MediaType string          `json:"media_type"`
	Duration  *fragment.Time  `json:"duration"`
	StartTime fragment.Time   `json:"start_time"`
	Index     *string         `json:"index"`
	Seekable  bool            `json:"seekable"`
	Created   *time.Time      `json:"created"` // RFC 3339
	Tracks    []trackInfoJSON `json:"tracks"`
	Chapters  []chapterJSON   `json:"chapters"`
	Tags      []tagJSON       `json:"tags"`
	Attached  []attachedJSON  `json:"attachments"`
	Warnings  []string        `json:"warnings"`
}

type trackInfoJSON struct {
	trackJSON
	CodedWidth  *int           `json:"coded_width"`
	CodedHeight *int           `json:"coded_height"`
	FrameRate   *fragment.Time `json:"frame_rate"`
	Channels    *int           `json:"channels"`
	SampleRate  *int           `json:"sample_rate"`
	Default     bool           `json:"default"`
	Group       *int           `json:"group"` // tracks of one group are alternatives
}

type chapterJSON struct {
	ID    *string        `json:"id"`
	Title *string        `json:"title"`
	Start fragment.Time  `json:"start"`
	End   *fragment.Time `json:"end"`
}

type tagJSON struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	Language *string `json:"language"`
	Track    *string `json:"track"`   // the ID of the track that it is about
	Chapter  *string `json:"chapter"` // the same of a chapter
}

type attachedJSON struct {
	Name        *string `json:"name"`
	MediaType   *string `json:"media_type"`
	Description *string `json:"description"`
	Bytes       int64   `json:"bytes"`
}

func newInfoJSON(uri string, i formats.Info, warnings []string) infoJSON {
	out := infoJSON{
		URI:       uri,
		Format:    i.Format,
		MediaType: i.MediaType,
		Duration:  duration(i),
		StartTime: i.StartTime,
		Index:     nonZero(string(i.Index)),
		Seekable:  i.Seekable,
		Created:   nonZero(i.Created),
		Tracks:    []trackInfoJSON{},
		Chapters:  []chapterJSON{},
		Tags:      []tagJSON{},
		Attached:  []attachedJSON{},
		Warnings:  warnings,
	}
	for _, t := range i.Tracks {
		track := trackInfoJSON{
			trackJSON:   newTrackJSON(t),
			CodedWidth:  nonZero(t.CodedWidth),
			CodedHeight: nonZero(t.CodedHeight),
			Channels:    nonZero(t.Channels),
			SampleRate:  nonZero(t.SampleRate),
			Default:     t.Default,
			Group:       nonZero(t.Group),
		}
		if t.FrameRate.Sign() > 0 {
			track.FrameRate = &t.FrameRate
		}
		out.Tracks = append(out.Tracks, track)
	}
	for _, c := range i.Chapters {
		c.Interval = closed(c.Interval, i)
		out.Chapters = append(out.Chapters, chapterJSON{nonZero(c.ID), nonZero(c.Title), c.Start, end(c.Interval)})
	}
	for _, t := range i.Tags {
		out.Tags = append(out.Tags, tagJSON{t.Name, t.Value, nonZero(t.Language), nonZero(t.Track), nonZero(t.Chapter)})
	}
	for _, f := range i.Attachments {
		out.Attached = append(out.Attached, attachedJSON{nonZero(f.Name), nonZero(f.MediaType), nonZero(f.Description), f.Size})
	}
	return out
}

// printInfo writes it for people.
func (a *app) printInfo(uri string, i formats.Info) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "uri\t%s\n", oneLine(uri))
	fmt.Fprintf(w, "format\t%s, %s\n", i.Format, i.MediaType)
	fmt.Fprintf(w, "duration\t%s\n", secondsOr(duration(i), "not known"))
	fmt.Fprintf(w, "start time\t%s\n", seconds(i.StartTime))
	fmt.Fprintf(w, "index\t%s\n", i.Index)
	fmt.Fprintf(w, "seekable\t%v\n", i.Seekable)
	if !i.Created.IsZero() {
		fmt.Fprintf(w, "created\t%s\n", i.Created.Format(time.RFC3339))
	}
	for _, t := range i.Tracks {
		fmt.Fprintf(w, "track\t%s\n", trackInfoText(t))
	}
	for _, c := range i.Chapters {
		fmt.Fprintf(w, "chapter\t%s  %s\n", interval(closed(c.Interval, i)), oneLine(c.Title))
	}
	for _, t := range i.Tags {
		fmt.Fprintf(w, "tag\t%s\n", oneLine(tagText(t)))
	}
	for _, f := range i.Attachments {
		fmt.Fprintf(w, "attachment\t%s\n", oneLine(strings.TrimSpace(fmt.Sprintf("%s  %s  %s  %s", f.Name, f.MediaType, bytesText(f.Size), f.Description))))
	}
	return w.Flush()
}

// tagText is a tag for people: of what it is, and what it says.
func tagText(t formats.Tag) string {
	text := t.Name + ": " + t.Value
	switch {
	case t.Track != "":
		text = "track " + t.Track + ": " + text
	case t.Chapter != "":
		text = "chapter " + t.Chapter + ": " + text
	}
	if t.Language != "" {
		text += " (" + t.Language + ")"
	}
	return text
}

// trackInfoText describes a track on one line, with what a clip's does not
// need.
func trackInfoText(t formats.Track) string {
	line := trackText(t)
	if (t.CodedWidth != t.Width || t.CodedHeight != t.Height) && t.CodedWidth > 0 {
		line += fmt.Sprintf("  coded %dx%d", t.CodedWidth, t.CodedHeight)
	}
	if t.Group != 0 {
		line += fmt.Sprintf("  group %d", t.Group)
	}
	if !t.Default {
		line += "  off by default"
	}
	return line
}
