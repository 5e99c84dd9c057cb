// SPDX-License-Identifier: GPL-2.0-or-later
//! Results are what the lab expects: its schema (tests/data/result_schema.py) against what the tester says.

use irqlab_tester::memory_model::Counts;
use serde_json::{Value, json};

use crate::laboratory::{Laboratory, stream, trial, with};

struct Schema(Value);

impl Schema {
    fn read() -> Self {
        Schema(serde_json::from_str(include_str!("result.schema.json")).unwrap())
    }

    /// Asserts that a value is as a definition says.
    fn check(&self, name: &str, value: &Value) {
        let definition = &self.0["$defs"][name];
        assert!(definition.is_object(), "there is no {name}");
        if let Err(why) = self.agrees(definition, value) {
            panic!("{name}: {why}");
        }
    }

    /// Knows the keywords that the lab's types use; any other is an error.
    fn agrees(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let keywords = schema.as_object().ok_or("not a schema")?;
        for (keyword, told) in keywords {
            let fits = match keyword.as_str() {
                "title" | "description" | "pattern" | "default" => true,
                "$ref" => {
                    let name = told.as_str().unwrap_or_default();
                    let name = name.trim_start_matches("#/$defs/");
                    self.agrees(&self.0["$defs"][name], value)?;
                    true
                }
                "anyOf" => {
                    let all = told.as_array().unwrap();
                    all.iter().any(|one| self.agrees(one, value).is_ok())
                }
                "type" => match told.as_str() {
                    Some("object") => value.is_object(),
                    Some("array") => value.is_array(),
                    Some("string") => value.is_string(),
                    Some("integer") => value.is_u64() || value.is_i64(),
                    Some("number") => value.is_number(),
                    Some("boolean") => value.is_boolean(),
                    Some("null") => value.is_null(),
                    _ => return Err(format!("unknown type {told}")),
                },
                "minimum" => value.as_f64() >= told.as_f64(),
                "minItems" => value.as_array().map(Vec::len) >= told.as_u64().map(|n| n as usize),
                "maxItems" => value.as_array().map(Vec::len) <= told.as_u64().map(|n| n as usize),
                "items" if told == &json!(false) => true, // the lengths say so
                "items" => {
                    for item in value.as_array().into_iter().flatten() {
                        self.agrees(told, item)?;
                    }
                    true
                }
                "prefixItems" => {
                    let items = value.as_array().into_iter().flatten();
                    for (schema, item) in told.as_array().unwrap().iter().zip(items) {
                        self.agrees(schema, item)?;
                    }
                    true
                }
                "properties" => {
                    for (name, inner) in told.as_object().unwrap() {
                        if let Some(field) = value.get(name) {
                            self.agrees(inner, field)
                                .map_err(|why| format!("{name}: {why}"))?;
                        }
                    }
                    true
                }
                "required" => {
                    let names = told.as_array().unwrap().iter();
                    names
                        .filter_map(Value::as_str)
                        .all(|name| value.get(name).is_some())
                }
                "additionalProperties" => {
                    let fields = value.as_object().into_iter().flatten();
                    let known = &schema["properties"];
                    fields
                        .map(|(name, _)| name)
                        .all(|name| known.get(name).is_some())
                }
                _ => return Err(format!("unknown keyword {keyword}")),
            };
            if !fits {
                return Err(format!("{keyword} {told}: {value}"));
            }
        }
        Ok(())
    }
}

#[test]
fn answers_are_as_the_lab_s_schema_says() {
    let schema = Schema::read();
    let mut lab = Laboratory::new();
    let plan = with(
        trial(&[stream(10_000.0), stream(1.0)]),
        json!({"bucket_ns": 1_000_000, "histogram": true}),
    );
    let each = trial(&[with(stream(10_000.0), json!({"each": true}))]);
    for plan in [plan, each, trial(&[stream(10_000.0)])] {
        schema.check("Answer", &lab.run(&plan).0);
    }
}

#[test]
fn a_memory_models_counters_are_as_the_lab_s_schema_says() {
    let level = irqlab_tester::memory_model::Level {
        name: "L1I",
        accesses: 3,
        misses: 1,
    };
    let plain = Counts {
        caches: vec![level.clone()],
        ..Counts::default()
    };
    let translated = Counts {
        tlbs: vec![level],
        ..plain.clone()
    };
    for counts in [plain, translated] {
        Schema::read().check("MemoryCounts", &serde_json::to_value(counts).unwrap());
    }
}

#[test]
fn what_differs_from_the_schema_is_noticed() {
    let schema = Schema::read();
    let mut lab = Laboratory::new();
    let stream = lab.run(&trial(&[stream(1_000.0)])).0["streams"][0].take();
    let definition = &schema.0["$defs"]["StreamAnswer"];
    assert_eq!(schema.agrees(definition, &stream), Ok(()));
    for change in [
        json!({"colour": "red"}),
        json!({"sent": -1}),
        json!({"sent": "1"}),
        json!({"series": [[1]]}),
        json!({"latency": {}}),
    ] {
        let changed = with(stream.clone(), change);
        assert!(schema.agrees(definition, &changed).is_err(), "{changed}");
    }
}
