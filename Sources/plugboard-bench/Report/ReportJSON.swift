// Writes a bench for programs: everything in the table, as numbers without rounding. It is one valid JSON
// object on one line, whatever the names of the machine and the systems are.

import PlugboardWire

extension ObjectWriter {
    /// Adds a number, or null if there is none.
    fileprivate consuming func adding(_ name: String, number: Double?) -> ObjectWriter {
        let text = number.flatMap { $0.isFinite ? Int(exactly: $0).map { "\($0)" } ?? "\($0)" : nil }
        return adding(name, json: (text ?? "null").utf8)
    }

    fileprivate consuming func adding(_ name: String, flag: Bool?) -> ObjectWriter {
        adding(name, json: (flag.map { "\($0)" } ?? "null").utf8)
    }

    fileprivate consuming func adding(_ name: String, list: [ObjectWriter]) -> ObjectWriter {
        adding(name, json: Self.array(list.map(\.bytes)))
    }

    /// Adds an object with a member for each quantity that has a value.
    fileprivate consuming func adding(_ name: String, each value: (Metric) -> ObjectWriter?) -> ObjectWriter {
        let members = Metric.allCases.reduce(ObjectWriter()) {
            $0.adding($1.rawValue, json: value($1)?.bytes)
        }
        return adding(name, json: members.bytes)
    }

    fileprivate consuming func adding(_ name: String, ratios value: (Metric) -> Double?) -> ObjectWriter {
        let members = Metric.allCases.reduce(ObjectWriter()) { text, metric in
            value(metric).map { text.adding(metric.rawValue, number: $0) } ?? text
        }
        return adding(name, json: members.bytes)
    }
}

extension Report {
    /// One JSON object on one line: `machine`, `versions`, `runs`, `secondsPerRun`, `rows`, `growth` and
    /// `goals`. Each row has its workload and its `systems`. Each figure has `median`, `least` and
    /// `most`.
    func json() -> String {
        let null = Array("null".utf8)
        let versions = versions.reduce(ObjectWriter()) {
            $0.adding($1.server, json: $1.version.map { JSONText.encoded($0) } ?? null)
        }
        let report = ObjectWriter().adding("machine", json: machine.json.bytes)
            .adding("versions", json: versions.bytes)
            .adding("runs", runs).adding("secondsPerRun", number: secondsPerRun)
            .adding("rows", list: rows.map(\.json)).adding("growth", list: growth.map(\.json))
            .adding("goals", list: Goals.measured(in: self).map { $0.goal.json($0.value) })
        return String(decoding: report.bytes, as: UTF8.self)
    }
}

extension Machine {
    fileprivate var json: ObjectWriter {
        ObjectWriter().adding("processor", string: processor).adding("processors", processors)
            .adding("kernel", string: kernel).adding("swift", string: swift)
            .adding("isStatic", flag: !isDynamic).adding("load", number: load)
    }
}

extension Row {
    fileprivate var json: ObjectWriter {
        ObjectWriter().adding("name", string: workload.name).adding("valueBytes", workload.valueBytes)
            .adding("publishers", workload.publishers).adding("observers", workload.observers)
            .adding("connectionsAtRest", workload.connectionsAtRest).adding("keys", workload.keys)
            .adding("batch", workload.batch).adding("systems", list: systems.map(json))
            .adding("diskBytesPerSecond", json: diskBytesPerSecond?.json.bytes)
            .adding(
                "failures",
                list: failures.map {
                    ObjectWriter().adding("system", string: $0.system).adding("reason", string: $0.reason)
                }
            )
    }

    private func json(_ system: SystemRow) -> ObjectWriter {
        ObjectWriter().adding("system", string: system.system).adding("does", string: system.summary)
            .adding("batch", system.batch).adding("hasEqualBatch", flag: hasEqualBatch(system))
            .adding("isHeldBackByGenerator", flag: system.isHeldBackByGenerator)
            .adding("figures", each: { system.samples.figure($0)?.json })
            .adding("timesLimit", ratios: { ratio($0, system.system, to: "limit") })
            .adding("timesWithout", ratios: { ratio($0, system.system, to: PlugboardDialect.plainName) })
            .adding("timesPlugboard", ratios: { ratio($0, system.system, to: "plugboard") })
    }
}

extension GrowthRows {
    fileprivate var json: ObjectWriter {
        let all = systems.map { system in
            let figures = figures(of: system).map { $0?.json.bytes ?? Array("null".utf8) }
            return ObjectWriter().adding("system", string: system)
                .adding("figures", json: ObjectWriter.array(figures))
                .adding("highestToLowest", number: factor(of: system))
        }
        return ObjectWriter().adding("name", string: growth.name).adding("what", string: growth.what)
            .adding("quantity", string: growth.quantity.rawValue)
            .adding("sizes", json: ObjectWriter.array(growth.sizes.map { Array("\($0)".utf8) }))
            .adding("systems", list: all)
    }
}

extension Goal {
    fileprivate func json(_ value: Double) -> ObjectWriter {
        let null = Array("null".utf8)
        return ObjectWriter().adding("what", string: what).adding("measured", number: value)
            .adding("must", json: must?.json.bytes ?? null).adding("aim", json: aim?.json.bytes ?? null)
            .adding("verdict", string: verdict(value).rawValue)
    }
}

extension Goal.Bound {
    fileprivate var json: ObjectWriter {
        ObjectWriter().adding(isLeast ? "atLeast" : "atMost", number: value)
    }
}

extension Figure {
    fileprivate var json: ObjectWriter {
        ObjectWriter().adding("median", number: median).adding("least", number: least)
            .adding("most", number: most)
    }
}
