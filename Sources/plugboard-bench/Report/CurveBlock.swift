// Draws a series as lines. Sizes go from left to right by powers of ten. Cost goes up from zero, so a
// flat line means a flat cost. If systems differ so much that the lower lines would coincide, cost goes
// by powers of ten, too.

import PlugboardPosix
import PlugboardWire

/// A block of the chart.
struct CurveBlock {
    private static let height = 200.0
    private static let left = Chart.margin + 60
    private static let right = Chart.width - Chart.margin - 20
    private static let legendPitch = 26.0
    private static let letterWidth = 6.2
    private static let linearSpanMax = 30.0
    let growth: GrowthRows

    /// Draws the series. Returns where the next block begins.
    func draw(in drawing: inout Drawing, from y: Double) -> Double {
        let end = drawing.heading(growth.growth.name, x: Chart.margin, y: y)
        drawing.words("CPU ns a \(growth.growth.cost), for more \(growth.growth.what)", x: end, y: y, .faint)
        drawLegend(in: &drawing, y: y + 20)
        let top = y + 34
        let scale = scale
        drawGrid(in: &drawing, top: top, scale)
        for system in growth.systems { draw(system, in: &drawing, top: top, scale) }
        return top + Self.height + 44
    }

    private func drawLegend(in drawing: inout Drawing, y: Double) {
        var x = Self.left
        for system in growth.systems {
            drawing.bar(x: x, y: y - 8, width: 10, height: 10, colour: Chart.colour(of: system))
            drawing.words(system, x: x + 14, y: y + 1)
            x += 14 + Double(system.count) * Self.letterWidth + Self.legendPitch
        }
    }

    private func drawGrid(in drawing: inout Drawing, top: Double, _ scale: CostScale) {
        for tick in scale.ticks {
            let y = top + Self.height * (1 - scale.place(tick))
            drawing.line((Self.left, y), (Self.right, y), "grid")
            drawing.words(Digits.tick(tick), x: Self.left - 6, y: y + 4, .faint, anchor: .end)
        }
        for (place, size) in growth.growth.sizes.enumerated() {
            let text = TextLayout.grouped(size)
            drawing.words(text, x: x(place), y: top + Self.height + 16, .faint, anchor: .middle)
        }
    }

    private func draw(_ system: String, in drawing: inout Drawing, top: Double, _ scale: CostScale) {
        let figures = growth.figures(of: system)
        let y = { (value: Double) in top + Self.height * (1 - scale.place(value)) }
        var points: [(x: Double, y: Double)] = []
        for (place, figure) in figures.enumerated() {
            guard let figure else { continue }
            points.append((x(place), y(figure.median)))
            guard y(figure.least) - y(figure.most) >= 1 else { continue }
            drawing.line((x(place), y(figure.least)), (x(place), y(figure.most)), "whisker")
        }
        drawing.curve(points, colour: Chart.colour(of: system))
    }

    private func x(_ place: Int) -> Double {
        let inner = Self.left + 30
        return inner + (Self.right - 30 - inner) * Double(place)
            / Double(max(1, growth.growth.sizes.count - 1))
    }

    private var scale: CostScale {
        let medians = growth.systems.flatMap { growth.figures(of: $0).compactMap(\.?.median) }
        let (least, most) = (medians.min() ?? 1, medians.max() ?? 1)
        return CostScale(least: least, most: most, isByPowers: most > Self.linearSpanMax * least)
    }
}

/// The scale of a block: the place of a cost between the bottom (0) and the top (1).
struct CostScale {
    private let bottom: Double
    private let top: Double
    private let isByPowers: Bool
    /// The costs that have a line across the block.
    let ticks: [Double]

    init(least: Double, most: Double, isByPowers: Bool) {
        self.isByPowers = isByPowers
        if isByPowers {
            bottom = pow(10, log10(least).rounded(.down))
            top = pow(10, log10(most).rounded(.up))
            let powers = Int(log10(bottom).rounded())...Int(log10(top).rounded())
            ticks = powers.map { pow(10, Double($0)) }
        } else {
            let step = Self.step(most)
            let count = max(1, (most / step).rounded(.up))
            bottom = 0
            top = step * count
            ticks = (0...Int(count)).map { Double($0) * step }
        }
    }

    func place(_ value: Double) -> Double {
        guard top > bottom else { return 0 }
        let part = isByPowers ? log10(max(value, bottom) / bottom) / log10(top / bottom) : value / top
        return min(1, max(0, part))
    }

    /// A round step; about five of them reach `most`.
    private static func step(_ most: Double) -> Double {
        let rough = max(most, 1e-3) / 5
        let power = pow(10, log10(rough).rounded(.down))
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= rough } ?? rough
    }
}
