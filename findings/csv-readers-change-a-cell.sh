#!/usr/bin/env bash
# What readers of CSV make of a cell that looks like a number or a date. The file has semicolons, as spreadsheets write it where the
# decimal separator is a comma. SheetJS finds the semicolons by itself, and then reads `12,50` as 1250, `1.234,56` as 1.23456, and the
# code `1-2` as a day of the year 2001. A cell that begins with `=` is missing in its rows. csv-parse reads `0x10` as 0. All of them make
# 100 of the code `00100`, and all but Papa Parse round long numbers. There is no error and no warning.
#
# How to read the table: the value of the cell in the first row, "same" for the unchanged text, and "none" if the row has no such cell.
# SheetJS and exceljs do so by default. With `raw: true`, SheetJS returns each of these cells unchanged. The others do so only if an
# option asks for types, as it does here: `dynamicTyping`, `cast`, `checkType` and `autoType`.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script. SheetJS publishes newer versions outside of npm. They were not run.
#
#|                   SheetJS           exceljs           Papa Parse        csv-parse         csvtojson         d3-dsv
#| 00100             100               100               100               100               100               100
#| +491234           491234            491234            same              491234            491234            491234
#| 9007199254740993  9007199254740992  9007199254740992  same              9007199254740992  9007199254740992  9007199254740992
#| 12,50             1250              same              same              same              same              same
#| 1.234,56          1.23456           same              same              same              same              same
#| 1E5               100000            100000            100000            100000            100000            100000
#| 1e400             same              same              same              same              Infinity          Infinity
#| 0x10              16                16                same              0                 same              16
#| 1-2               36893             same              same              same              same              same
#| 50%               0.5               same              same              same              same              same
#| =1+2              none              same              same              same              same              same
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm xlsx@0.18.5 exceljs@4.4.0 papaparse@5.7.1 csv-parse@7.0.3 csvtojson@2.0.14 d3-dsv@3.0.2

cat > "$folder/cells.js" <<'END'
import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import csvtojson from 'csvtojson';
import { autoType, dsvFormat } from 'd3-dsv';
import ExcelJS from 'exceljs';
import Papa from 'papaparse';
import XLSX from 'xlsx';

const readers = {
  SheetJS: (text) => {
    const { SheetNames, Sheets } = XLSX.read(text, { type: 'string' });
    return XLSX.utils.sheet_to_json(Sheets[SheetNames[0]])[0].Value;
  },
  exceljs: async (text) => {
    const sheet = await new ExcelJS.Workbook().csv.read(Readable.from([text]), { parserOptions: { delimiter: ';' } });
    return sheet.getRow(2).getCell(2).value;
  },
  'Papa Parse': (text) => Papa.parse(text, { header: true, dynamicTyping: true }).data[0].Value,
  'csv-parse': (text) => parse(text, { columns: true, delimiter: ';', cast: true })[0].Value,
  csvtojson: async (text) => (await csvtojson({ delimiter: ';', checkType: true }).fromString(text))[0].Value,
  'd3-dsv': (text) => dsvFormat(';').parse(text, autoType)[0].Value,
};
const cells = ['00100', '+491234', '9007199254740993', '12,50', '1.234,56', '1E5', '1e400', '0x10', '1-2', '50%', '=1+2'];

const row = (cells) => console.log(cells.map((cell) => cell.padEnd(18)).join('').trimEnd());
row(['', ...Object.keys(readers)]);
for (const cell of cells) {
  const values = [];
  for (const read of Object.values(readers)) {
    const value = (await read(`Code;Value;Name\nA;${cell};B\nC;D;E\n`)) ?? 'none';
    values.push(value === cell ? 'same' : String(value));
  }
  row([cell, ...values]);
}
END

measure() { "$node" "$folder/cells.js"; }
check
