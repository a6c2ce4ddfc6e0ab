// A bench as a program reads it: everything the table has, as numbers without rounding.

/// A value of JSON, in the order in which it was put together.
private indirect enum JSON {
    case text(String)
    case number(Double)
    case flag(Bool)
    case list([JSON])
    case object([(String, JSON)])
    case null

    static func of(_ value: Double?) -> JSON { value.map { .number($0) } ?? .null }
    static func of(_ value: Bool?) -> JSON { value.map { .flag($0) } ?? .null }
    static func of(_ value: Int) -> JSON { .number(Double(value)) }

    var encoded: String {
        switch self {
        case .text(let text): Self.quoted(text)
        case .number(let value):
            // What is no number is null.
            Int(exactly: value).map { "\($0)" } ?? (value.isFinite ? "\(value)" : "null")
        case .flag(let isTrue): "\(isTrue)"
        case .list(let values): "[\(values.map(\.encoded).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { Self.quoted($0) + ":" + $1.encoded }.joined(separator: ","))}"
        case .null: "null"
        }
    }

    /// A name, ours or the system's; control characters, which none has, become spaces.
    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
            return scalar.value < 0x20 ? " " : String(scalar)
        }
        return "\"\(escaped.joined())\""
    }
}

extension Report {
    /// One JSON object on one line: `machine`, `versions`, `runs`, `secondsPerRun`, `rows`,
    /// `growth` and `goals`; each row with its workload and its `systems`, each figure with
    /// `median`, `least` and `most`.
    func json() -> String {
        JSON.object([
            ("machine", machine.json),
            ("versions", .object(versions.map { ($0.server, $0.version.map { .text($0) } ?? .null) })),
            ("runs", .of(runs)), ("secondsPerRun", .of(secondsPerRun)),
            ("rows", .list(rows.map(\.json))), ("growth", .list(growth.map(\.json))),
            ("goals", .list(Goals.measured(in: self).map { $0.goal.json($0.value) })),
        ]).encoded
    }
}

extension Machine {
    fileprivate var json: JSON {
        .object([
            ("processor", .text(processor)), ("processors", .of(processors)), ("kernel", .text(kernel)),
            ("swift", .text(swift)), ("isStatic", .flag(!isDynamic)), ("load", .of(load)),
        ])
    }
}

extension Row {
    fileprivate var json: JSON {
        .object([
            ("name", .text(workload.name)), ("valueBytes", .of(workload.valueBytes)),
            ("publishers", .of(workload.publishers)), ("observers", .of(workload.observers)),
            ("connectionsAtRest", .of(workload.connectionsAtRest)), ("keys", .of(workload.keys)),
            ("batch", .of(workload.batch)), ("systems", .list(systems.map(json))),
            (
                "failures",
                .list(failures.map { .object([("system", .text($0.system)), ("reason", .text($0.reason))]) })
            ),
        ])
    }

    private func json(_ system: SystemRow) -> JSON {
        let ratios = { (other: String) in
            JSON.of { ratio($0, system.system, to: other).map { .number($0) } }
        }
        return .object([
            ("system", .text(system.system)), ("does", .text(system.summary)), ("batch", .of(system.batch)),
            ("hasEqualBatch", .of(hasEqualBatch(system))),
            ("isHeldBackByGenerator", .flag(system.isHeldBackByGenerator)),
            ("figures", .of { system.samples.figure($0)?.json }), ("timesLimit", ratios("limit")),
            ("timesWithout", ratios(PlugboardDialect.plainName)), ("timesPlugboard", ratios("plugboard")),
        ])
    }
}

extension JSON {
    /// A member for each quantity that has a value.
    fileprivate static func of(_ value: (Metric) -> JSON?) -> JSON {
        .object(Metric.allCases.compactMap { quantity in value(quantity).map { (quantity.rawValue, $0) } })
    }
}

extension GrowthRows {
    fileprivate var json: JSON {
        .object([
            ("name", .text(growth.name)), ("what", .text(growth.what)),
            ("quantity", .text(growth.quantity.rawValue)), ("sizes", .list(growth.sizes.map(JSON.of))),
            (
                "systems",
                .list(
                    systems.map {
                        .object([
                            ("system", .text($0)),
                            ("figures", .list(figures(of: $0).map { $0?.json ?? .null })),
                            ("highestToLowest", .of(factor(of: $0))),
                        ])
                    }
                )
            ),
        ])
    }
}

extension Goal {
    fileprivate func json(_ value: Double) -> JSON {
        .object([
            ("what", .text(what)), ("measured", .of(value)), ("must", must?.json ?? .null),
            ("aim", aim?.json ?? .null), ("verdict", .text(verdict(value).rawValue)),
        ])
    }
}

extension Goal.Bound {
    fileprivate var json: JSON { .object([(isLeast ? "atLeast" : "atMost", .of(value))]) }
}

extension Figure {
    fileprivate var json: JSON {
        .object([("median", .of(median)), ("least", .of(least)), ("most", .of(most))])
    }
}
