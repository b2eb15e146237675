/** A GLCodeInfo (docs/reference/service-api.md, section 2.3). `Hide` is 0 or 1 here; its meaning is not documented. */
export type SampleCode = {
  readonly Code: string;
  readonly Name: string;
  readonly Value: string;
  readonly Hide: number;
};

/** The codes of each project, the same for every integration target. */
export const codesByProject: ReadonlyMap<string, readonly SampleCode[]> = new Map([
  [
    'north-plant',
    [
      visible('1200', 'Spare parts in stock', 'NP-1200'),
      visible('1310', 'Work in progress', 'NP-1310'),
      visible('1480', 'Prepaid tooling', 'NP-1480'),
      visible('4010', 'Raw materials', 'NP-4010'),
      visible('4020', 'Packaging', 'NP-4020'),
      visible('4035', 'Subcontracted machining', 'NP-4035'),
      visible('4110', 'Inbound freight', 'NP-4110'),
      visible('5010', 'Electricity', 'NP-5010'),
      visible('5020', 'Process water', 'NP-5020'),
      visible('5030', 'Industrial gases', 'NP-5030'),
      visible('5210', 'Machine maintenance', 'NP-5210'),
      visible('5220', 'Calibration and inspection', 'NP-5220'),
      visible('5410', 'Protective clothing', 'NP-5410'),
      visible('5600', 'Waste disposal', 'NP-5600'),
      hidden('5990', 'Line 2 (closed down)', 'NP-5990'),
      hidden('9999', 'Suspense account', 'NP-9999'),
    ],
  ],
  [
    'harbour-office',
    [
      visible('6010', 'Office rent', 'HO-6010'),
      visible('6020', 'Cleaning', 'HO-6020'),
      visible('6110', 'Berth fees', 'HO-6110'),
      visible('6120', 'Pilotage and towage', 'HO-6120'),
      visible('6130', 'Customs clearance', 'HO-6130'),
      visible('6140', 'Container storage', 'HO-6140'),
      visible('6210', 'Marine insurance', 'HO-6210'),
      visible('6310', 'Fuel for service boats', 'HO-6310'),
      visible('6410', 'Telephone and radio', 'HO-6410'),
      visible('6540', 'Café and catering', 'HO-6540'),
      visible('6710', 'Courier services', 'HO-6710'),
      hidden('6800', 'Old quay lease', 'HO-6800'),
      hidden('9999', 'Suspense account', 'HO-9999'),
    ],
  ],
  [
    'head-office',
    [
      visible('7010', 'Salaries', 'HQ-7010'),
      visible('7020', 'Social security', 'HQ-7020'),
      visible('7110', 'Recruitment', 'HQ-7110'),
      visible('7120', 'Training', 'HQ-7120'),
      visible('7210', 'Audit fees', 'HQ-7210'),
      visible('7220', 'Legal advice', 'HQ-7220'),
      visible('7310', 'Software subscriptions', 'HQ-7310'),
      visible('7320', 'Computer equipment', 'HQ-7320'),
      visible('7410', 'Travel: rail and air', 'HQ-7410'),
      visible('7420', 'Travel: hotels', 'HQ-7420'),
      visible('7430', 'Entertaining', 'HQ-7430'),
      visible('7510', 'Bank charges', 'HQ-7510'),
      visible('7520', 'Exchange differences', 'HQ-7520'),
      hidden('7900', 'Board provisions', 'HQ-7900'),
      hidden('9999', 'Suspense account', 'HQ-9999'),
    ],
  ],
  // Charts as other countries write them: headings without a code, a code that is listed twice, long words, any script.
  [
    'hamburg',
    [
      visible('', 'Klasse 0: Anlagevermögen', 'Class 0: fixed assets'),
      visible('0050', 'Grundstücke und grundstücksgleiche Rechte', 'Land and rights'),
      visible('0111', 'Außenanlagen für Geschäftsbauten', 'Outside facilities'),
      visible('0210', 'Maschinen', 'Machinery'),
      visible('', 'Klasse 4: Betriebliche Aufwendungen', 'Class 4: operating costs'),
      visible('4110', 'Löhne und Gehälter', 'Wages and salaries'),
      visible('4360', 'Versicherungen', 'Insurance'),
      visible('4360', 'Versicherungen für Gebäude (bis 2024)', 'Building insurance'),
      visible('4580', 'Sonstige Kraftfahrzeugkosten', 'Motor vehicle costs'),
      visible('4822', 'Abschreibungen auf Sachanlagen', 'Depreciation'),
      visible(
        '4855',
        'Sofortabschreibungen geringwertiger Wirtschaftsgüter',
        'Immediate write-off',
      ),
      hidden('4999', 'Durchlaufende Posten', 'Transitory items'),
    ],
  ],
  [
    'istanbul',
    [
      visible('100', 'KASA', 'Kasa'),
      visible('120', 'ALICILAR', 'Alıcılar'),
      visible('128', 'ŞÜPHELİ TİCARİ ALACAKLAR', 'Şüpheli ticari alacaklar'),
      visible('132', 'İŞTİRAKLERDEN ALACAKLAR', 'İştiraklerden alacaklar'),
      visible('191', 'İNDİRİLECEK KATMA DEĞER VERGİSİ (KDV)', 'İndirilecek KDV'),
      visible('600.01', 'YURT İÇİ SATIŞLAR', 'Yurt içi satışlar'),
      visible('770.02', 'GENEL YÖNETİM GİDERLERİ', 'Genel yönetim giderleri'),
      hidden('999', 'KAPANMIŞ HESAP', 'Kapanmış hesap'),
    ],
  ],
  [
    'jeddah',
    [
      visible('', 'الأصول', 'أصول'),
      visible('100101', 'حق استخدام الأصول (IFRS 16)', 'أصول'),
      visible('100103', 'ضريبة القيمة المضافة المدينة (15%)', 'ضرائب'),
      visible('101006', 'خزينة رئيسية - عملات اخرى', 'نقد'),
      visible('', 'المصروفات', 'مصروفات'),
      visible('400012', 'رسوم حكومية وتراخيص', 'مصروفات'),
      visible('400020', 'اشتراكات البرامج (Software)', 'مصروفات'),
      hidden('400099', 'حساب مغلق', 'مغلق'),
    ],
  ],
  [
    'osaka',
    [
      visible('111100', '現金', 'GENKIN'),
      visible('126000', '売掛金', 'URIKAKE'),
      visible('210100', 'ソフトウェア', 'SOFTWARE'),
      visible('220700', '未払金（クレジット）', 'MIBARAI'),
      visible('510200', '荷造運賃', 'UNCHIN'),
      visible('531000', '旅費交通費', 'RYOHI'),
      visible('532000', '水道光熱費', 'KONETSU'),
      hidden('999000', '諸口', 'SHOKUCHI'),
    ],
  ],
  ['group', manyCodes()],
]);

/** A project with as many codes as a large company has. */
function manyCodes(): SampleCode[] {
  const kinds = ['Travel', 'Materials', 'Rent', 'Insurance', 'Services'];
  return Array.from({ length: 50_000 }, (_, index) => {
    const code = String(10_000 + index);
    return visible(code, `${kinds[index % kinds.length]}, cost centre ${index}`, `GR-${code}`);
  });
}

function visible(Code: string, Name: string, Value: string): SampleCode {
  return { Code, Name, Value, Hide: 0 };
}

function hidden(Code: string, Name: string, Value: string): SampleCode {
  return { Code, Name, Value, Hide: 1 };
}
