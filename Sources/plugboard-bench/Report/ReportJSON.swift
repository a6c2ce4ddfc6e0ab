// A bench as a program reads it: everything the table has, as numbers without rounding.

extension Report {
    /// One JSON object on one line: `machine`, `versions`, `runs`, `secondsPerRun`, `rows`,
    /// `growth` and `goals`; each row with its workload and its `systems`, each figure with
    /// `median`, `least` and `most`.
    func json() -> String {
        let members = [
            #""machine":\#(machine.json())"#,
            #""versions":{\#(versions.map { $0.json() }.joined(separator: ","))}"#,
            #""runs":\#(runs)"#, #""secondsPerRun":\#(number(secondsPerRun))"#,
            #""rows":\#(array(rows.map { $0.json() }))"#,
            #""growth":\#(array(growth.map { $0.json() }))"#,
            #""goals":\#(array(Goals.all.compactMap { $0.json(in: self) }))"#,
        ]
        return object(members)
    }
}

extension Machine {
    fileprivate func json() -> String {
        object([
            #""processor":\#(quoted(processor))"#, #""processors":\#(processors)"#,
            #""kernel":\#(quoted(kernel))"#, #""swift":\#(quoted(swift))"#, #""isStatic":\#(!isDynamic)"#,
            #""load":\#(load.map(number) ?? "null")"#,
        ])
    }
}

extension SystemVersion {
    fileprivate func json() -> String {
        "\(quoted(server)):\(version.map(quoted) ?? "null")"
    }
}

extension Row {
    fileprivate func json() -> String {
        object([
            #""name":\#(quoted(workload.name))"#, #""valueBytes":\#(workload.valueBytes)"#,
            #""publishers":\#(workload.publishers)"#, #""observers":\#(workload.observers)"#,
            #""connectionsAtRest":\#(workload.connectionsAtRest)"#,
            #""keys":\#(workload.keys)"#, #""batch":\#(workload.batch)"#,
            #""systems":\#(array(systems.map { $0.json(in: self) }))"#,
            #""failures":\#(array(failures.map { $0.json() }))"#,
        ])
    }

    /// A system's figures as multiples of another's: the median over pairs of runs.
    fileprivate func ratios(of system: SystemRow, to other: String) -> String {
        guard let other = samples(of: other) else { return "{}" }
        return object(
            Quantity.allCases.compactMap { quantity in
                system.samples.ratio(quantity, to: other).map { #""\#(quantity.rawValue)":\#(number($0))"# }
            }
        )
    }
}

extension Failure {
    fileprivate func json() -> String {
        object([#""system":\#(quoted(system))"#, #""reason":\#(quoted(reason))"#])
    }
}

extension SystemRow {
    fileprivate func json(in row: Row) -> String {
        let figures = Quantity.allCases.compactMap { quantity in
            samples.figure(quantity).map { #""\#(quantity.rawValue)":\#($0.json())"# }
        }
        let isEqual = row.hasEqualBatch(self).map { $0 ? "true" : "false" } ?? "null"
        return object([
            #""system":\#(quoted(system))"#, #""does":\#(quoted(summary))"#, #""batch":\#(batch)"#,
            #""hasEqualBatch":\#(isEqual)"#, #""isHeldBackByGenerator":\#(isHeldBackByGenerator)"#,
            #""figures":\#(object(figures))"#,
            #""timesLimit":\#(row.ratios(of: self, to: "limit"))"#,
            #""timesWithout":\#(row.ratios(of: self, to: PlugboardDialect.plainName))"#,
            #""timesPlugboard":\#(row.ratios(of: self, to: "plugboard"))"#,
        ])
    }
}

extension GrowthRows {
    fileprivate func json() -> String {
        object([
            #""name":\#(quoted(growth.name))"#, #""what":\#(quoted(growth.what))"#,
            #""quantity":\#(quoted(growth.quantity.rawValue))"#,
            #""sizes":\#(array(growth.sizes.map { "\($0)" }))"#,
            #""systems":\#(array(systems.map { json(of: $0) }))"#,
        ])
    }

    private func json(of system: String) -> String {
        object([
            #""system":\#(quoted(system))"#,
            #""figures":\#(array(figures(of: system).map { $0?.json() ?? "null" }))"#,
            #""highestToLowest":\#(factor(of: system).map(number) ?? "null")"#,
        ])
    }
}

extension Goal {
    /// Nil where it wasn't measured.
    fileprivate func json(in report: Report) -> String? {
        guard let value = measure(report) else { return nil }
        return object([
            #""what":\#(quoted(what))"#, #""measured":\#(number(value))"#,
            #""must":\#(must.json())"#, #""aim":\#(aim.json())"#,
            #""verdict":\#(quoted(verdict(value).rawValue))"#,
        ])
    }
}

extension Goal.Bound {
    fileprivate func json() -> String {
        switch self {
        case .atMost(let most): #"{"atMost":\#(number(most))}"#
        case .atLeast(let least): #"{"atLeast":\#(number(least))}"#
        case .none: "null"
        }
    }
}

extension Figure {
    fileprivate func json() -> String {
        #"{"median":\#(number(median)),"least":\#(number(least)),"most":\#(number(most))}"#
    }
}

private func object(_ members: [String]) -> String {
    "{\(members.joined(separator: ","))}"
}

private func array(_ elements: [String]) -> String {
    "[\(elements.joined(separator: ","))]"
}

/// A number as JSON has it; what is no number is null.
private func number(_ value: Double) -> String {
    value.isFinite ? "\(value)" : "null"
}

/// A name, ours or the system's; control characters, which none has, become spaces.
private func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
        if scalar == "\"" || scalar == "\\" { return "\\\(scalar)" }
        return scalar.value < 0x20 ? " " : String(scalar)
    }
    return "\"\(escaped.joined())\""
}
