// One row of the bench as bars: one panel for each quantity that matters in it, one bar
// for each system, its number behind it, a whisker from the least to the most.

/// A block of the chart.
struct BarBlock {
    private static let barHeight = 10.0
    private static let barPitch = 15.0
    private static let labelWidth = 132.0
    private static let panelPitch = 400.0
    private static let barWidthMax = 280.0
    private static let gap = 18.0
    /// Of the longest bar.
    private static let whiskerMax = 1.4
    let row: Row

    /// Returns where the next block begins.
    func draw(in drawing: inout Drawing, from y: Double) -> Double {
        let column = Chart.margin + Self.labelWidth + 8
        let end = drawing.heading(row.workload.name, x: Chart.margin, y: y)
        drawing.words(Table.conditions(of: row.workload), x: max(column, end), y: y, .faint)
        let top = y + 16
        for (place, panel) in panels.enumerated() {
            let left = column + Double(place) * Self.panelPitch
            drawing.words(panel.caption, x: left, y: top, .faint)
            draw(panel, in: &drawing, left: left, top: top + 6)
        }
        for (place, system) in row.systems.enumerated() {
            let base = top + 6 + Double(place) * Self.barPitch + Self.barHeight - 1
            drawing.words(system.system, x: Chart.margin + Self.labelWidth, y: base, anchor: .end)
        }
        return top + 6 + Double(row.systems.count) * Self.barPitch + Self.gap
    }

    private struct Panel {
        let quantity: Quantity
        let caption: String
    }

    private var panels: [Panel] {
        switch row.workload.measure {
        case .rate:
            [
                Panel(quantity: .messagesPerSecond, caption: "messages a second (longer is better)"),
                row.workload.observers > 0
                    ? Panel(
                        quantity: .cpuNanosecondsPerDelivery,
                        caption: "CPU ns a delivery (shorter is better)"
                    )
                    : Panel(
                        quantity: .cpuNanosecondsPerMessage,
                        caption: "CPU ns a message (shorter is better)"
                    ),
            ]
        case .roundTrip:
            [
                Panel(quantity: .roundTripP50Microseconds, caption: "median µs (shorter is better)"),
                Panel(quantity: .roundTripP99Microseconds, caption: "99th percentile µs (shorter is better)"),
            ]
        case .idle:
            [Panel(quantity: .bytesPerConnection, caption: "bytes a connection (shorter is better)")]
        case .startUp, .recovery: [Panel(quantity: .startMilliseconds, caption: "ms (shorter is better)")]
        case .snapshot:
            [Panel(quantity: .longestRoundTripMilliseconds, caption: "longest wait, ms (shorter is better)")]
        }
    }

    private func draw(_ panel: Panel, in drawing: inout Drawing, left: Double, top: Double) {
        let figures = row.systems.map { $0.samples.figure(panel.quantity) }
        let most = Self.longest(figures.compactMap { $0 })
        guard most > 0 else { return }
        for (place, figure) in figures.enumerated() {
            guard let figure else { continue }
            let y = top + Double(place) * Self.barPitch
            let length = { (value: Double) in min(max(0, value) / most, 1) * Self.barWidthMax }
            drawing.bar(
                x: left,
                y: y,
                width: length(figure.median),
                height: Self.barHeight,
                colour: Chart.colour(of: row.systems[place].system)
            )
            drawWhisker(in: &drawing, left, length(figure.least), length(figure.most), y: y)
            let end = left + max(1, length(figure.most)) + 5
            drawing.words(Digits.text(figure.median), x: end, y: y + Self.barHeight - 1)
        }
    }

    /// The value that is as long as the panel. One run that went wrong would squeeze every bar:
    /// a whisker that goes far beyond them is cut off.
    private static func longest(_ figures: [Figure]) -> Double {
        let medians = figures.map(\.median).max() ?? 0
        return max(medians, min(figures.map(\.most).max() ?? 0, medians * whiskerMax))
    }

    private func drawWhisker(
        in drawing: inout Drawing,
        _ left: Double,
        _ least: Double,
        _ most: Double,
        y: Double
    ) {
        guard most - least >= 1 else { return }
        let middle = y + Self.barHeight / 2
        drawing.line((left + least, middle), (left + most, middle), "whisker")
        for end in [least, most] where end < Self.barWidthMax {
            drawing.line((left + end, middle - 2.5), (left + end, middle + 2.5), "whisker")
        }
    }
}
