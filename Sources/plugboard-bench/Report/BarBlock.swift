// Draws one row of the bench as bars. There is a panel for each quantity that matters in the row. A panel
// has a bar for each system, with its number and a whisker from the smallest to the largest value.

/// A block of the chart.
struct BarBlock {
    private static let barHeight = 10.0
    private static let barPitch = 15.0
    private static let labelWidth = 132.0
    private static let panelPitch = 400.0
    private static let barWidthMax = 280.0
    private static let gap = 18.0
    /// The longest whisker, as a multiple of the longest bar.
    private static let whiskerMax = 1.4
    let row: Row

    /// Draws the row. Returns where the next block begins.
    func draw(in drawing: inout Drawing, from y: Double) -> Double {
        let column = Chart.margin + Self.labelWidth + 8
        let end = drawing.heading(row.workload.name, x: Chart.margin, y: y)
        drawing.words(Table.conditions(of: row.workload), x: max(column, end), y: y, .faint)
        let top = y + 22
        for (place, panel) in panels.enumerated() {
            let left = column + Double(place) * Self.panelPitch
            let better = panel.quantity.isGain ? "longer" : "shorter"
            drawing.words("\(panel.caption) (\(better) is better)", x: left, y: top - 6, .faint)
            draw(panel.quantity, in: &drawing, left: left, top: top)
        }
        for (place, system) in row.systems.enumerated() {
            let base = top + Double(place) * Self.barPitch + Self.barHeight - 1
            drawing.words(system.system, x: Chart.margin + Self.labelWidth, y: base, anchor: .end)
        }
        return top + Double(row.systems.count) * Self.barPitch + Self.gap
    }

    private var panels: [(quantity: Metric, caption: String)] {
        switch row.workload.measure {
        case .rate:
            [
                (.messagesPerSecond, "messages a second"),
                row.workload.observers > 0
                    ? (.cpuNanosecondsPerDelivery, "CPU ns a delivery")
                    : (.cpuNanosecondsPerMessage, "CPU ns a message"),
            ]
        case .roundTrip:
            [(.roundTripP50Microseconds, "median µs"), (.roundTripP99Microseconds, "99th percentile µs")]
        case .idle: [(.bytesPerConnection, "bytes a connection")]
        case .keys: [(.bytesPerKey, "bytes a key")]
        case .startUp, .recovery: [(.startMilliseconds, "ms")]
        case .snapshot: [(.longestRoundTripMilliseconds, "longest wait, ms")]
        }
    }

    private func draw(_ quantity: Metric, in drawing: inout Drawing, left: Double, top: Double) {
        let figures = row.systems.map { $0.samples.figure(quantity) }
        // The value of a full bar. A single bad run would make all bars short, so its whisker is cut off.
        let longest = figures.compactMap { $0?.median }.max() ?? 0
        let most = max(longest, min(figures.compactMap { $0?.most }.max() ?? 0, longest * Self.whiskerMax))
        guard most > 0 else { return }
        for (place, figure) in figures.enumerated() {
            guard let figure else { continue }
            let y = top + Double(place) * Self.barPitch
            let length = { (value: Double) in min(max(0, value) / most, 1) * Self.barWidthMax }
            let colour = Chart.colour(of: row.systems[place].system)
            drawing.bar(x: left, y: y, width: length(figure.median), height: Self.barHeight, colour: colour)
            drawWhisker(in: &drawing, left, length(figure.least), length(figure.most), y: y)
            let end = left + max(1, length(figure.most)) + 5
            drawing.words(Digits.text(figure.median), x: end, y: y + Self.barHeight - 1)
        }
    }

    private func drawWhisker(
        in drawing: inout Drawing, _ left: Double, _ least: Double, _ most: Double, y: Double
    ) {
        guard most - least >= 1 else { return }
        let middle = y + Self.barHeight / 2
        drawing.line((left + least, middle), (left + most, middle), "whisker")
        for end in [least, most] where end < Self.barWidthMax {
            drawing.line((left + end, middle - 2.5), (left + end, middle + 2.5), "whisker")
        }
    }
}
